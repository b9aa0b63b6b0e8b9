-- The clock is the database's. Everything asks this function, so that tests can move time instead of sleeping.
-- Stable and a single SELECT: the planner inlines it, and an index can be searched with it.
CREATE FUNCTION callboard.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT statement_timestamp()';

-- Names are compared byte by byte ("C"): several times faster in an index than by the rules of a language.
CREATE TABLE callboard.tasks (
    id               text COLLATE "C" PRIMARY KEY,
    actor            text COLLATE "C" NOT NULL,
    queue            text COLLATE "C" NOT NULL,
    lane             text COLLATE "C" NOT NULL DEFAULT 'primary' CHECK (lane IN ('primary', 'retry')),
    status           text COLLATE "C" NOT NULL,
    priority         smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    rank             bigint NOT NULL,               -- the order among equals, set on entering the queue
    tenant           text COLLATE "C",
    payload          jsonb NOT NULL,
    result           jsonb,
    error            jsonb,
    progress         jsonb NOT NULL,
    checkpoint       jsonb NOT NULL DEFAULT '{}',
    tokens           bigint NOT NULL DEFAULT 0,
    cost             numeric NOT NULL DEFAULT 0,
    attempt          integer NOT NULL DEFAULT 0,    -- counted at the claim
    max_attempts     integer NOT NULL CHECK (max_attempts > 0),
    epoch            integer NOT NULL DEFAULT 0,    -- the fencing token: +1 at each claim, never reset
    last_event       integer NOT NULL DEFAULT 1,    -- n of the newest line in events
    cancel_requested text CHECK (cancel_requested IN ('pause', 'cancel', 'force')),
    worker_id        text,
    available_at     timestamptz NOT NULL,
    expires_at       timestamptz,                   -- first available_at + max_age
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
    updated_at       timestamptz NOT NULL,
    hidden_at        timestamptz
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

-- History must not slow the living: apart from the primary key, every index covers live statuses only.
CREATE INDEX tasks_claim ON callboard.tasks (queue, lane, priority, rank, id) WHERE status = 'queued';
CREATE INDEX tasks_due ON callboard.tasks (available_at) WHERE status = 'scheduled';
CREATE INDEX tasks_aging ON callboard.tasks (expires_at)
    WHERE expires_at IS NOT NULL AND status IN ('scheduled', 'queued', 'waiting');
CREATE INDEX tasks_resting ON callboard.tasks (status, id) WHERE status IN ('paused', 'dead');
CREATE INDEX tasks_workflow_run ON callboard.tasks ((payload ->> 'workflow_run_id'), id)
    WHERE payload ->> 'workflow_run_id' IS NOT NULL;

-- Narrow, so that renewing a thousand of them is cheap. A running task has exactly one; nothing else has any.
CREATE TABLE callboard.leases (
    task_id          text COLLATE "C" PRIMARY KEY,
    epoch            integer NOT NULL,
    worker_id        text COLLATE "C" NOT NULL,
    claim_number     bigint NOT NULL,               -- counts the worker's claims: an answer may still be on its way
    cancel_requested text,
    started_at       timestamptz NOT NULL,
    renewed_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX leases_worker ON callboard.leases (worker_id);

-- Ended executions. The one that runs is the task's lease.
CREATE TABLE callboard.attempts (
    task_id     text COLLATE "C" NOT NULL,
    epoch       integer NOT NULL,
    attempt     integer NOT NULL,
    worker_id   text NOT NULL,
    outcome     text NOT NULL
        CHECK (outcome IN ('completed', 'failed', 'lost', 'released', 'paused', 'canceled')),
    error       jsonb,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, epoch)
);

CREATE TABLE callboard.events (
    task_id text COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    kind    text NOT NULL,
    data    jsonb NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (task_id, n)
);

CREATE TABLE callboard.workers (
    id              text PRIMARY KEY,
    host            text NOT NULL,
    boot_id         text NOT NULL,
    pid_namespace   text NOT NULL,
    pid             integer NOT NULL,
    process_started double precision NOT NULL,
    queues          text[] NOT NULL,
    threads         integer NOT NULL,
    started_at      timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    stopped_at      timestamptz
);
CREATE INDEX workers_alive ON callboard.workers (host) WHERE stopped_at IS NULL;

CREATE TABLE callboard.idempotency (
    tenant     text NOT NULL,
    route      text NOT NULL,
    key        text NOT NULL,
    body_hash  text NOT NULL,
    answer     jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, route, key)
);
CREATE INDEX idempotency_age ON callboard.idempotency (created_at);
