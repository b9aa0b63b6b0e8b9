-- The table of dramatiq-pg, for plain Dramatiq actors. Its own schema.sql needs psql.
CREATE SCHEMA IF NOT EXISTS dramatiq;

CREATE TYPE dramatiq.state AS ENUM ('queued', 'consumed', 'rejected', 'done');

CREATE TABLE dramatiq.queue (
    message_id uuid PRIMARY KEY,
    queue_name text NOT NULL DEFAULT 'default',
    state      dramatiq.state,
    mtime      timestamptz DEFAULT (now() AT TIME ZONE 'UTC'),
    message    jsonb,
    result     jsonb,
    result_ttl timestamptz
);
CREATE INDEX queue_state_mtime ON dramatiq.queue (state, mtime);

COMMENT ON TABLE dramatiq.queue IS 'Messages of plain Dramatiq actors, as dramatiq-pg keeps them. Tasks are in callboard.tasks.';
