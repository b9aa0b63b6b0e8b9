-- The clock is the database's. Everything asks this function, so that tests can move time instead of sleeping.
-- Stable and a single SELECT: the planner inlines it, and an index can be searched with it.
CREATE FUNCTION callboard.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT statement_timestamp()';

-- A domain says which values a column may have. A CHECK on the table would cost more: Postgres parses its text again
-- for every statement that touches the table, which takes about as long as inserting a row.
CREATE DOMAIN callboard.lane AS text COLLATE "C" CHECK (VALUE IN ('primary', 'retry'));
CREATE DOMAIN callboard.priority AS smallint CHECK (VALUE BETWEEN 0 AND 3);
CREATE DOMAIN callboard.attempt_limit AS integer CHECK (VALUE > 0);
CREATE DOMAIN callboard.stop_request AS text CHECK (VALUE IN ('pause', 'cancel', 'force'));

-- Names are compared byte by byte (COLLATE "C"), which is several times faster in an index than a language's rules.
CREATE TABLE callboard.tasks (
    id               text COLLATE "C" PRIMARY KEY,
    actor            text COLLATE "C" NOT NULL,
    queue            text COLLATE "C" NOT NULL,
    lane             callboard.lane NOT NULL DEFAULT 'primary'::text,
    status           text COLLATE "C" NOT NULL,
    priority         callboard.priority NOT NULL,
    rank             bigint NOT NULL,
    tenant           text COLLATE "C",
    target           text COLLATE "C",
    dedup_key        text,
    workflow_id      text COLLATE "C",
    step             text COLLATE "C",
    branch           integer,

    payload          jsonb NOT NULL,
    checkpoint       jsonb NOT NULL DEFAULT '{}',
    progress         jsonb,
    result           jsonb,
    error            jsonb,
    tokens           bigint NOT NULL DEFAULT 0,
    cost             numeric NOT NULL DEFAULT 0,

    epoch            integer NOT NULL DEFAULT 0,
    attempt          integer NOT NULL DEFAULT 0,
    max_attempts     callboard.attempt_limit NOT NULL,
    attempts_before  integer NOT NULL DEFAULT 0,
    worker_id        text,
    cancel_requested callboard.stop_request,
    last_event       integer NOT NULL DEFAULT 1,
    reports          integer NOT NULL DEFAULT 0,

    gates            text[] NOT NULL DEFAULT '{}',
    gate_limits      integer[] NOT NULL DEFAULT '{}',
    waiting_gate     text COLLATE "C",
    waiting_reason   text,
    woken_for        text COLLATE "C",
    woken_at         timestamptz,
    bounces          integer NOT NULL DEFAULT 0,

    available_at     timestamptz NOT NULL,
    max_age          double precision,
    expires_at       timestamptz,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
    updated_at       timestamptz NOT NULL,
    hidden_at        timestamptz,
    webhook_url      text,
    webhook_events   text[],
    traceparent      text
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

COMMENT ON FUNCTION callboard.now() IS 'The clock of everything here; tests replace it.';
COMMENT ON TABLE callboard.tasks IS 'One unit of work that somebody asked for. Rows are kept for ever.';
COMMENT ON COLUMN callboard.tasks.id IS 'tq_ and a time-ordered id, given by the submitter.';
COMMENT ON COLUMN callboard.tasks.actor IS 'The kind of work.';
COMMENT ON COLUMN callboard.tasks.lane IS 'primary for new tasks, retry for tasks that run again.';
COMMENT ON COLUMN callboard.tasks.status IS 'Moves are listed in state/transitions.py; the trigger guard_moves refuses any other.';
COMMENT ON COLUMN callboard.tasks.priority IS '0 (first) to 3.';
COMMENT ON COLUMN callboard.tasks.rank IS 'The place among tasks of one queue, lane and priority, set on entering the queue; see entry_rank.';
COMMENT ON COLUMN callboard.tasks.target IS 'Tasks of one target run one after the other, in the order of their creation.';
COMMENT ON COLUMN callboard.tasks.workflow_id IS 'The workflow that the task belongs to: its end advances the workflow (follow_tasks).';
COMMENT ON COLUMN callboard.tasks.step IS 'The step of the workflow; NULL for a task that was submitted into the workflow by hand.';
COMMENT ON COLUMN callboard.tasks.branch IS 'The place in the list of a step with for_each; 0 for any other step.';
COMMENT ON COLUMN callboard.tasks.checkpoint IS 'Saved by the running code and kept over attempts.';
COMMENT ON COLUMN callboard.tasks.progress IS '{percent, message, elapsed_ms, updated_at}; NULL until the attempt says something.';
COMMENT ON COLUMN callboard.tasks.error IS 'The last failure: {type, category, message, details, traceback}.';
COMMENT ON COLUMN callboard.tasks.tokens IS 'Used over all attempts, like cost.';
COMMENT ON COLUMN callboard.tasks.epoch IS 'The fencing token: +1 at each claim, never reset.';
COMMENT ON COLUMN callboard.tasks.attempt IS 'Counted at the claim; a released execution gives it back.';
COMMENT ON COLUMN callboard.tasks.attempts_before IS 'Attempts used when the task was revived last; max_attempts goes on counting from there.';
COMMENT ON COLUMN callboard.tasks.worker_id IS 'The worker that runs the task now.';
COMMENT ON COLUMN callboard.tasks.cancel_requested IS 'What the worker of a running task is asked for.';
COMMENT ON COLUMN callboard.tasks.last_event IS 'n of the newest row in events.';
COMMENT ON COLUMN callboard.tasks.reports IS 'Reports written by the running execution: a report that is sent again is recognized by its number.';
COMMENT ON COLUMN callboard.tasks.gates IS 'Keys of the gates that the task must pass to start, in the order of the keys.';
COMMENT ON COLUMN callboard.tasks.gate_limits IS 'The limit that the actor declares for each of the gates; used for gates that have no row yet.';
COMMENT ON COLUMN callboard.tasks.waiting_gate IS 'The gate in whose line a waiting task stands.';
COMMENT ON COLUMN callboard.tasks.woken_for IS 'The gate that has let a queued task out of its line; NULL when it has started.';
COMMENT ON COLUMN callboard.tasks.bounces IS 'How often the task was woken for one gate and stopped at another since it entered the queue.';
COMMENT ON COLUMN callboard.tasks.available_at IS 'The earliest start.';
COMMENT ON COLUMN callboard.tasks.max_age IS 'Seconds from available_at to expires_at, as they were asked for: a revived task gets them again.';
COMMENT ON COLUMN callboard.tasks.expires_at IS 'A task that has not started by then is dead.';
COMMENT ON COLUMN callboard.tasks.webhook_url IS 'Where moves of the task are reported (queue_webhooks); NULL: nowhere.';
COMMENT ON COLUMN callboard.tasks.webhook_events IS 'The statuses whose beginning is reported.';
COMMENT ON COLUMN callboard.tasks.traceparent IS 'The span that has submitted it (W3C Trace Context), if there are traces.';
COMMENT ON COLUMN callboard.tasks.hidden_at IS 'When the finished task was deleted by a user; the row stays as audit trail.';

-- History must not slow the live tasks: apart from the primary key and those of lists, every index covers only the statuses
-- that can still move.
CREATE INDEX tasks_claim ON callboard.tasks (queue, lane, priority, rank, id) WHERE status = 'queued';
CREATE INDEX tasks_due ON callboard.tasks (available_at) WHERE status = 'scheduled';
CREATE INDEX tasks_aging ON callboard.tasks (expires_at) WHERE expires_at IS NOT NULL AND status IN (/*startable*/);
CREATE INDEX tasks_line ON callboard.tasks (waiting_gate, priority, rank, id) WHERE status = 'waiting';
CREATE INDEX tasks_woken ON callboard.tasks (woken_for, woken_at) WHERE status = 'queued' AND woken_for IS NOT NULL;
CREATE INDEX tasks_target ON callboard.tasks ((coalesce(tenant, '')), target, created_at, id)
    WHERE target IS NOT NULL AND status NOT IN (/*terminal*/);
CREATE INDEX tasks_resting ON callboard.tasks (status, id) WHERE status IN ('paused', 'dead');
-- Unique: a step of a workflow starts each of its tasks once.
CREATE UNIQUE INDEX tasks_workflow ON callboard.tasks (workflow_id, step, branch) WHERE workflow_id IS NOT NULL;

-- Lists. Tasks that agree in all columns that have few values are of one kind. There are few kinds beside any number of
-- tasks, so a list jumps from kind to kind (newest_tasks): whatever its filters are, also if nothing fits them, it does not
-- read the tasks that do not fit. Tasks that run are few, and found through their leases: a claim writes nothing here.
CREATE FUNCTION callboard.kind_of(
    status text, actor text, queue text, lane text, tenant text, agent_name text, task_type text, error_type text
) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT hash_record_extended(ROW(status, actor, queue, lane, tenant, agent_name, task_type, error_type), 0)';
CREATE INDEX tasks_listed ON callboard.tasks ((/*kind*/), id) WHERE status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_tenant ON callboard.tasks (tenant, (/*kind*/), id)
    WHERE tenant IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_target ON callboard.tasks (target, (/*kind_in_tenant*/), id)
    WHERE target IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_workflow ON callboard.tasks (workflow_id, (/*kind_in_tenant*/), id)
    WHERE workflow_id IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_run ON callboard.tasks ((payload ->> 'workflow_run_id'), (/*kind_in_tenant*/), id)
    WHERE payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
-- Two names at once: either of them may have any number of tasks, and both together none.
CREATE FUNCTION callboard.name_pair(first text, second text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT length(first) || '':'' || first || second';
CREATE INDEX tasks_listed_workflow_run ON callboard.tasks (
    (callboard.name_pair(workflow_id, payload ->> 'workflow_run_id')), (/*kind_in_tenant*/), id)
    WHERE workflow_id IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_workflow_target ON callboard.tasks (
    (callboard.name_pair(workflow_id, target)), (/*kind_in_tenant*/), id)
    WHERE workflow_id IS NOT NULL AND target IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX tasks_listed_target_run ON callboard.tasks (
    (callboard.name_pair(target, payload ->> 'workflow_run_id')), (/*kind_in_tenant*/), id)
    WHERE target IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;

-- Dead letters by what went wrong, see error_groups.sql. Only a task that dies is entered here.
CREATE INDEX tasks_dead ON callboard.tasks (callboard.error_fingerprint(error), (/*kind*/), id)
    WHERE status = 'dead' AND hidden_at IS NULL;
CREATE INDEX tasks_dead_tenant ON callboard.tasks (tenant, callboard.error_fingerprint(error), (/*kind*/), id)
    WHERE tenant IS NOT NULL AND status = 'dead' AND hidden_at IS NULL;

-- The group of tasks among which a tenant takes its turns, as one number: the last of them is found several times
-- faster than by four columns of text. Two tenants with the same number would share their turns. Written in plpgsql, so
-- that the planner sees a call and its cost: at this cost the index below is the only way to look for a key, whatever
-- the statistics say, also in a plan that was made when the table was empty.
CREATE FUNCTION callboard.fair_key(queue text, lane text, priority smallint, tenant text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000000
AS $$
BEGIN
    RETURN hashtextextended(queue, hashtextextended(lane, hashtextextended(coalesce(tenant, ''), priority)));
END $$;
CREATE INDEX tasks_fair ON callboard.tasks (callboard.fair_key(queue, lane, priority, tenant), rank) WHERE status = 'queued';
