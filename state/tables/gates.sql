CREATE TABLE callboard.gates (
    key                        text COLLATE "C" PRIMARY KEY,
    max_concurrent             integer CHECK (max_concurrent >= 0),
    declared_concurrent        integer CHECK (declared_concurrent >= 0),
    rate_count                 integer CHECK (rate_count > 0),
    rate_seconds               double precision CHECK (rate_seconds > 0),
    declared_rate_count        integer,
    declared_rate_seconds      double precision,
    paused                     boolean NOT NULL DEFAULT false,
    closed_until               timestamptz,
    breaker_threshold          double precision CHECK (breaker_threshold > 0 AND breaker_threshold <= 1),
    breaker_volume             integer NOT NULL DEFAULT 10 CHECK (breaker_volume > 0),
    breaker_window             double precision NOT NULL DEFAULT 60 CHECK (breaker_window > 0),
    breaker_seconds            double precision NOT NULL DEFAULT 60 CHECK (breaker_seconds > 0),
    declared_breaker_threshold double precision,
    declared_breaker_volume    integer,
    declared_breaker_window    double precision,
    declared_breaker_seconds   double precision,
    breaker_state              text NOT NULL DEFAULT 'closed' CHECK (breaker_state IN ('closed', 'open', 'half_open')),
    breaker_changed_at         timestamptz,
    probe_task                 text COLLATE "C",
    probe_epoch                integer,
    CHECK ((rate_count IS NULL) = (rate_seconds IS NULL))
);

COMMENT ON TABLE callboard.gates IS 'A named condition that tasks must pass to start: how many at once, how fast, paused, closed, breaker.';
COMMENT ON COLUMN callboard.gates.key IS 'Such as provider:local, queue:media, tenant:acme, target:acme/site or actor:embedding.';
COMMENT ON COLUMN callboard.gates.max_concurrent IS 'How many may run at once; NULL: any number. Follows declared_concurrent unless an operator has set another value.';
COMMENT ON COLUMN callboard.gates.declared_concurrent IS 'What the code declares. The other declared_ columns likewise.';
COMMENT ON COLUMN callboard.gates.rate_count IS 'How many may start in rate_seconds; NULL: any number.';
COMMENT ON COLUMN callboard.gates.breaker_threshold IS 'The share of failures that opens the breaker; NULL: the gate has no breaker.';
COMMENT ON COLUMN callboard.gates.breaker_volume IS 'The number of results below which the breaker stays closed.';
COMMENT ON COLUMN callboard.gates.breaker_window IS 'Seconds back in which results count.';
COMMENT ON COLUMN callboard.gates.breaker_seconds IS 'Seconds from open to half_open.';
COMMENT ON COLUMN callboard.gates.breaker_changed_at IS 'Results before this moment do not count.';
COMMENT ON COLUMN callboard.gates.probe_task IS 'The task that tries, with probe_epoch, whether the service is back while the breaker is half open.';

-- Rows and no counters: a crash cannot leave a slot behind, as slots are deleted with their lease (drop_slots).
CREATE TABLE callboard.slots (
    gate    text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    epoch   integer NOT NULL,
    PRIMARY KEY (gate, task_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX slots_task ON callboard.slots (task_id);
-- Makes two running tasks of one target impossible.
CREATE UNIQUE INDEX slots_target ON callboard.slots (gate) WHERE gate LIKE 'target:%';

COMMENT ON TABLE callboard.slots IS 'The place of a running task at each of its gates.';

CREATE TABLE callboard.reservations (
    gate       text COLLATE "C" PRIMARY KEY,
    task_id    text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX reservations_task ON callboard.reservations (task_id);

COMMENT ON TABLE callboard.reservations IS 'A place at a gate that is kept for a while for a task with several gates, which others would overtake for ever.';

CREATE TABLE callboard.gate_starts (
    gate text COLLATE "C" NOT NULL,
    n    bigint NOT NULL,
    at   timestamptz NOT NULL
);
CREATE INDEX gate_starts_gate ON callboard.gate_starts (gate, at);
CREATE INDEX gate_starts_n ON callboard.gate_starts (gate, n);

COMMENT ON TABLE callboard.gate_starts IS 'Recent starts at gates that have a rate.';
COMMENT ON COLUMN callboard.gate_starts.n IS 'Counts up for each gate, so that nothing has to count the starts in a window.';

CREATE TABLE callboard.gate_results (
    gate    text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    epoch   integer NOT NULL,
    failed  boolean NOT NULL,
    at      timestamptz NOT NULL
);
CREATE INDEX gate_results_gate ON callboard.gate_results (gate, at);
-- Each claim at a gate with a closed breaker asks whether there was a failure at all.
CREATE INDEX gate_results_failed ON callboard.gate_results (gate, at) WHERE failed;

COMMENT ON TABLE callboard.gate_results IS 'Recent results at gates that have a breaker: appended by settle, judged under the gate''s lock.';

CREATE TABLE callboard.gate_changes (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    gate    text COLLATE "C" NOT NULL,
    at      timestamptz NOT NULL,
    origin  text NOT NULL CHECK (origin IN ('operator', 'code', 'breaker')),
    by      text,
    changes jsonb NOT NULL
);
CREATE INDEX gate_changes_gate ON callboard.gate_changes (gate, id);

COMMENT ON TABLE callboard.gate_changes IS 'What was changed at a gate, kept for ever. Changes by plain SQL are not in it.';
COMMENT ON COLUMN callboard.gate_changes.origin IS 'operator: by API or command; code: it declares another value; breaker: it has opened, or closed.';
COMMENT ON COLUMN callboard.gate_changes.by IS 'The name of the operator''s API key.';
COMMENT ON COLUMN callboard.gate_changes.changes IS 'Columns of gates with the value before and the value after: {"max_concurrent": [3, 5]}.';

-- No key: a sample that is taken twice does no harm.
CREATE TABLE callboard.gate_samples (
    gate           text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL,
    running        integer NOT NULL,
    waiting        integer NOT NULL,
    max_concurrent integer,
    closed_by      text
);
CREATE INDEX gate_samples_gate ON callboard.gate_samples (gate, at);
CREATE INDEX gate_samples_at ON callboard.gate_samples (at);

COMMENT ON TABLE callboard.gate_samples IS 'The use of gates every ten seconds while they are in use, kept for about an hour. A gate at rest has no samples after its last one.';
COMMENT ON COLUMN callboard.gate_samples.waiting IS 'The length of the line, counted up to 10,000.';
COMMENT ON COLUMN callboard.gate_samples.closed_by IS 'What let no task start, whatever the limit: paused, closed, breaker_open or breaker_half_open.';
