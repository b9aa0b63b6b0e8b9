CREATE TABLE callboard.events (
    task_id text COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    kind    text NOT NULL,
    data    jsonb NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (task_id, n)
);

COMMENT ON TABLE callboard.events IS 'The history of tasks: what streams send and the audit trail keeps. Rows are only added.';
COMMENT ON COLUMN callboard.events.n IS 'Counts up from 1 for each task, without gaps, under the lock of the task''s row.';
COMMENT ON COLUMN callboard.events.kind IS 'One of EVENT_KINDS in state/tasks/events.py, or a kind that an actor has chosen.';
