CREATE TABLE callboard.timelines (
    timeline integer PRIMARY KEY,
    since    timestamptz NOT NULL
);

COMMENT ON TABLE callboard.timelines IS 'The timelines of Postgres that workers have met: a server gets a new one when it takes over from another, or is restored.';
COMMENT ON COLUMN callboard.timelines.since IS 'When a worker met it first; -infinity for the one on which this table was made.';
