CREATE TABLE callboard.workers (
    id              text PRIMARY KEY,
    host            text NOT NULL,
    boot_id         text NOT NULL,
    pid_namespace   text NOT NULL,
    pid             integer NOT NULL,
    start_ticks     bigint,
    queues          text[] NOT NULL,
    actors          text[] NOT NULL,
    threads         integer NOT NULL,
    started_at      timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    stopped_at      timestamptz,
    coroutines      integer NOT NULL DEFAULT 0,
    version         text,
    stopping_at     timestamptz
);
CREATE INDEX workers_alive ON callboard.workers (host) WHERE stopped_at IS NULL;

COMMENT ON TABLE callboard.workers IS 'Worker processes, one row for each start of one.';
COMMENT ON COLUMN callboard.workers.boot_id IS 'With host and pid_namespace: workers that can ask their kernel whether this one still runs.';
COMMENT ON COLUMN callboard.workers.start_ticks IS 'The kernel''s start time of the process, which no clock step changes; NULL where it is not known.';
COMMENT ON COLUMN callboard.workers.actors IS 'Names of the actors that the worker knows.';
COMMENT ON COLUMN callboard.workers.seen_at IS 'The last pulse.';
COMMENT ON COLUMN callboard.workers.coroutines IS 'Tasks of async actors that it runs at once; 0 for release 23, which runs them in its threads.';
COMMENT ON COLUMN callboard.workers.version IS 'Of Callboard; NULL for releases that did not say it.';
COMMENT ON COLUMN callboard.workers.stopping_at IS 'When it was asked to shut down: it finishes what it runs, and takes no more.';

CREATE TABLE callboard.maintainer (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    worker_id  text,
    expires_at timestamptz
) WITH (fillfactor = 50);
INSERT INTO callboard.maintainer DEFAULT VALUES;

COMMENT ON TABLE callboard.maintainer IS 'The one worker that does the cluster''s housekeeping. Always exactly one row.';

CREATE TABLE callboard.actor_pace (
    actor      text PRIMARY KEY,
    seconds    double precision NOT NULL,
    updated_at timestamptz NOT NULL
);

COMMENT ON TABLE callboard.actor_pace IS 'How long an actor''s tasks take, as the workers measure it: estimates are made from it.';
