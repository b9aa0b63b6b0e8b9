-- A domain and no CHECK: see tasks.sql.
CREATE DOMAIN callboard.outcome AS text
    CHECK (VALUE IN ('completed', 'failed', 'lost', 'released', 'paused', 'canceled'));

CREATE TABLE callboard.attempts (
    task_id     text COLLATE "C" NOT NULL,
    epoch       integer NOT NULL,
    attempt     integer NOT NULL,
    worker_id   text NOT NULL,
    outcome     callboard.outcome NOT NULL,
    error       jsonb,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, epoch)
);

COMMENT ON TABLE callboard.attempts IS 'Executions that have ended. The one that runs now is the task''s row in leases.';
COMMENT ON COLUMN callboard.attempts.attempt IS 'The number of the attempt; a released one is counted again by the next execution.';
COMMENT ON COLUMN callboard.attempts.outcome IS 'failed: the code raised an error. lost: the worker died. released: given back at a graceful shutdown.';
