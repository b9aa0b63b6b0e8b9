-- One mechanism for everything that keeps a task from starting.
CREATE TABLE callboard.gates (
    key                 text COLLATE "C" PRIMARY KEY,
    declared_concurrent integer CHECK (declared_concurrent >= 0), -- what the code says; max_concurrent follows it
    max_concurrent      integer CHECK (max_concurrent >= 0),      -- unless an operator has set another one; NULL: any
    rate_count          integer CHECK (rate_count > 0),
    rate_seconds        double precision CHECK (rate_seconds > 0),
    paused              boolean NOT NULL DEFAULT false,
    closed_until        timestamptz,
    breaker_threshold   double precision CHECK (breaker_threshold > 0 AND breaker_threshold <= 1), -- NULL: no breaker
    breaker_volume      integer NOT NULL DEFAULT 10 CHECK (breaker_volume > 0),
    breaker_window      double precision NOT NULL DEFAULT 60 CHECK (breaker_window > 0),
    breaker_seconds     double precision NOT NULL DEFAULT 60 CHECK (breaker_seconds > 0),
    breaker_state       text NOT NULL DEFAULT 'closed' CHECK (breaker_state IN ('closed', 'open', 'half_open')),
    breaker_changed_at  timestamptz,                              -- results before this moment do not count
    probe_task          text COLLATE "C",                         -- the one that tries whether the service is back
    probe_epoch         integer,
    CHECK ((rate_count IS NULL) = (rate_seconds IS NULL))
);

-- A slot belongs to a running task, or (epoch 0) is kept by one that has bounced between its gates for too long.
-- Rows, not counters: what a crash leaves behind is gone with the lease.
CREATE TABLE callboard.slots (
    gate    text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    epoch   integer NOT NULL,
    PRIMARY KEY (gate, task_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX slots_task ON callboard.slots (task_id);

CREATE TABLE callboard.gate_starts (  -- for gates with a rate
    gate text COLLATE "C" NOT NULL,
    at   timestamptz NOT NULL
);
CREATE INDEX gate_starts_gate ON callboard.gate_starts (gate, at);

CREATE TABLE callboard.gate_results (  -- for gates with a breaker: appended by settle, judged under the gate's lock
    gate    text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    epoch   integer NOT NULL,
    failed  boolean NOT NULL,
    at      timestamptz NOT NULL
);
CREATE INDEX gate_results_gate ON callboard.gate_results (gate, at);

CREATE TABLE callboard.dedup (
    tenant  text NOT NULL,
    actor   text NOT NULL,
    key     text NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    until   timestamptz NOT NULL,
    PRIMARY KEY (tenant, actor, key)
);
CREATE INDEX dedup_until ON callboard.dedup (until);

-- How long each actor's tasks take, as the workers see it: what an estimate is made from.
CREATE TABLE callboard.actor_pace (
    actor      text PRIMARY KEY,
    seconds    double precision NOT NULL,
    updated_at timestamptz NOT NULL
);

ALTER TABLE callboard.tasks
    ADD COLUMN target       text COLLATE "C",
    ADD COLUMN dedup_key    text,
    ADD COLUMN gates        text[] NOT NULL DEFAULT '{}',   -- in the order of their keys
    ADD COLUMN gate_limits  integer[] NOT NULL DEFAULT '{}', -- what the actor says of each; for gates not yet known
    ADD COLUMN waiting_gate text COLLATE "C",
    ADD COLUMN waiting_reason text,
    ADD COLUMN woken_for    text COLLATE "C",
    ADD COLUMN woken_at     timestamptz,
    ADD COLUMN bounces      integer NOT NULL DEFAULT 0;     -- woken for one gate, stopped at another

CREATE INDEX tasks_line ON callboard.tasks (waiting_gate, priority, rank, id) WHERE status = 'waiting';
CREATE INDEX tasks_woken ON callboard.tasks (woken_for, woken_at) WHERE status = 'queued' AND woken_for IS NOT NULL;
CREATE INDEX tasks_tenant ON callboard.tasks (queue, lane, priority, (coalesce(tenant, '')), rank) WHERE status = 'queued';
CREATE INDEX tasks_target ON callboard.tasks ((coalesce(tenant, '')), target, created_at, id)
    WHERE target IS NOT NULL AND status NOT IN ('completed', 'canceled');

-- A limit that is set while tasks run counts those as well.
CREATE FUNCTION callboard.count_running() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT NEW.key, t.id, t.epoch
    FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id
    WHERE NEW.key = ANY (t.gates) AND t.status = 'running'
    ON CONFLICT (gate, task_id) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER count_running_insert AFTER INSERT ON callboard.gates
    FOR EACH ROW WHEN (NEW.max_concurrent IS NOT NULL) EXECUTE FUNCTION callboard.count_running();
CREATE TRIGGER count_running_update AFTER UPDATE OF max_concurrent ON callboard.gates
    FOR EACH ROW WHEN (OLD.max_concurrent IS NULL AND NEW.max_concurrent IS NOT NULL)
    EXECUTE FUNCTION callboard.count_running();
