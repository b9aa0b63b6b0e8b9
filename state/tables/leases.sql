-- Narrow, so that renewing a thousand of them is cheap.
CREATE TABLE callboard.leases (
    task_id          text COLLATE "C" PRIMARY KEY,
    epoch            integer NOT NULL,
    worker_id        text COLLATE "C" NOT NULL,
    claim_number     bigint NOT NULL,
    cancel_requested text,
    started_at       timestamptz NOT NULL,
    renewed_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    on_loss          jsonb
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX leases_worker ON callboard.leases (worker_id);

COMMENT ON TABLE callboard.leases IS 'A worker''s right to a task. A running task has exactly one; no other task has any.';
COMMENT ON COLUMN callboard.leases.claim_number IS 'Counts the worker''s claims: the result of a claim may still be on its way to the worker.';
COMMENT ON COLUMN callboard.leases.cancel_requested IS 'As in tasks; here it is read by the worker''s pulse.';
COMMENT ON COLUMN callboard.leases.on_loss IS 'What to write instead of "lost" if the worker dies: {"report": {...} or null, "settlement": {...}}.';
