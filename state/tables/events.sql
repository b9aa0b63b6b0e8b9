CREATE TABLE callboard.events (
    task_id text COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    kind    text NOT NULL,
    data    jsonb NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (task_id, n)
);
-- For metrics: finds the moves of a minute. Rows are only added, in the order of time, so that a few bytes for each
-- megabyte of rows will do; a b-tree would cost every move.
CREATE INDEX events_moves ON callboard.events USING brin (at) WITH (autosummarize = on) WHERE kind = 'status';

COMMENT ON TABLE callboard.events IS 'The history of tasks: what streams send and the audit trail keeps. Rows are only added.';
COMMENT ON COLUMN callboard.events.n IS 'Counts up from 1 for each task, without gaps, under the lock of the task''s row.';
COMMENT ON COLUMN callboard.events.kind IS 'One of EVENT_KINDS in state/tasks/events.py, or a kind that an actor has chosen.';
