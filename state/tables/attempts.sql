-- A domain and no CHECK: see tasks.sql.
CREATE DOMAIN callboard.outcome AS text
    CHECK (VALUE IN ('completed', 'failed', 'lost', 'released', 'paused', 'canceled'));

-- Partitioned like events, which says why.
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
) PARTITION BY RANGE (task_id);

CREATE TABLE callboard.attempts_later PARTITION OF callboard.attempts DEFAULT;
DO $$
BEGIN
    EXECUTE format('CREATE TABLE callboard.attempts_before PARTITION OF callboard.attempts FOR VALUES FROM (''tq_'') TO (%L)',
                   'tq_' || lpad(to_hex(extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC')
                                                           + interval '2 months')::bigint * 1000), 12, '0'));
END $$;

COMMENT ON TABLE callboard.attempts IS 'Executions that have ended. The one that runs now is the task''s row in leases.';
COMMENT ON TABLE callboard.attempts_before IS 'Attempts of the tasks that were created before there was a partition for each month.';
COMMENT ON TABLE callboard.attempts_later IS 'Attempts of tasks for whose month there is no partition: see events_later.';
COMMENT ON COLUMN callboard.attempts.attempt IS 'The number of the attempt; a released one is counted again by the next execution.';
COMMENT ON COLUMN callboard.attempts.outcome IS 'failed: the code raised an error. lost: the worker died. released: given back at a graceful shutdown.';
