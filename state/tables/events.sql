-- Partitioned by the time at which a task was created, which its id begins with: a read by id touches one partition, and
-- (task_id, n) is unique for ever. The months come from make_partition. Workflows and projects have a partition each, for
-- all of their time. What fits nowhere else is in events_later, so that no row is ever refused.
CREATE TABLE callboard.events (
    task_id text COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    kind    text NOT NULL,
    data    jsonb NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (task_id, n)
) PARTITION BY RANGE (task_id);
-- For metrics: finds the moves of a minute. Rows are only added, in the order of time, so that a few bytes for each
-- megabyte of rows will do; a b-tree would cost every move.
CREATE INDEX events_moves ON callboard.events USING brin (at) WITH (autosummarize = on) WHERE kind = 'status';

CREATE TABLE callboard.events_of_projects PARTITION OF callboard.events FOR VALUES FROM (MINVALUE) TO ('tq_');
CREATE TABLE callboard.events_of_workflows PARTITION OF callboard.events FOR VALUES FROM ('tq`') TO (MAXVALUE);
CREATE TABLE callboard.events_later PARTITION OF callboard.events DEFAULT;
DO $$
BEGIN
    -- The first months have a partition together: as long as this in a database that is migrated, so that the table can
    -- become a partition while rows are added to it.
    EXECUTE format('CREATE TABLE callboard.events_before PARTITION OF callboard.events FOR VALUES FROM (''tq_'') TO (%L)',
                   'tq_' || lpad(to_hex(extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC')
                                                           + interval '2 months')::bigint * 1000), 12, '0'));
END $$;

COMMENT ON TABLE callboard.events IS 'The history of tasks: what streams send and the audit trail keeps. Rows are only added.';
COMMENT ON TABLE callboard.events_before IS 'Events of the tasks that were created before there was a partition for each month.';
COMMENT ON TABLE callboard.events_of_projects IS 'Events of projects.';
COMMENT ON TABLE callboard.events_of_workflows IS 'Events of workflows.';
COMMENT ON TABLE callboard.events_later IS 'Events of tasks for whose month there is no partition: it is far away, detached, or was not made in time.';
COMMENT ON COLUMN callboard.events.n IS 'Counts up from 1 for each task, without gaps, under the lock of the task''s row.';
COMMENT ON COLUMN callboard.events.kind IS 'One of EVENT_KINDS in state/tasks/events.py, or a kind that an actor has chosen.';
