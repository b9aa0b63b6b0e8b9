-- Returns the newest tasks that fit the filters, `most` of each of two sorts: those that run, which are found through their
-- leases, and all others, which are found by their kind. wanted: {status, actor, agent_name, task_type, queue, lane, tenant,
-- target, error_type, workflow_id, workflow_run_id, fingerprint (of dead letters)}; scope: the tenant of the caller; died_by: dead by that moment;
-- places: lists of statuses and lanes, such as dead:retry.
CREATE OR REPLACE FUNCTION callboard.newest_tasks(wanted jsonb, before_id text, most integer) RETURNS TABLE (id text)
LANGUAGE plpgsql STABLE ROWS 100
-- Every step is a look into an index, whatever the statistics say.
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wanted_target text := wanted ->> 'target';
    wanted_workflow text := wanted ->> 'workflow_id';
    wanted_run text := wanted ->> 'workflow_run_id';
    wanted_group text := wanted ->> 'fingerprint';
    wanted_tenant text := coalesce(wanted ->> 'scope', wanted ->> 'tenant');
    died_by timestamptz := wanted ->> 'died_by';
    its_part text := coalesce(
        wanted_group, callboard.name_pair(wanted_workflow, wanted_run), callboard.name_pair(wanted_workflow, wanted_target),
        callboard.name_pair(wanted_target, wanted_run), wanted_run, wanted_workflow, wanted_target, wanted_tenant, '');
BEGIN
    before_id := coalesce(before_id, chr(1114111));  -- after every id
    IF coalesce(wanted ->> 'status', 'running') = 'running' AND wanted_group IS NULL THEN
        RETURN QUERY
        SELECT r.id FROM (
            SELECT l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM callboard.leases e JOIN callboard.tasks l ON l.id = e.task_id
            WHERE l.status = 'running' AND l.id < before_id
        ) AS r WHERE r.fits AND r.itself ORDER BY r.id DESC LIMIT most;
    END IF;
    IF wanted ->> 'status' = 'running' THEN
        RETURN;
    END IF;
    IF wanted_group IS NOT NULL AND wanted_tenant IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.error_fingerprint(l.error) AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE tenant = wanted_tenant AND status = 'dead' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_group IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.error_fingerprint(l.error) AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE status = 'dead' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_workflow IS NOT NULL AND wanted_run IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.name_pair(l.workflow_id, l.payload ->> 'workflow_run_id') AS part, l.kind, l.id, /*fits_kind*/ AS fits,
                   /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE workflow_id IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running'
                    AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_workflow IS NOT NULL AND wanted_target IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.name_pair(l.workflow_id, l.target) AS part, l.kind, l.id, /*fits_kind*/ AS fits,
                   /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE workflow_id IS NOT NULL AND target IS NOT NULL AND status <> 'running'
                    AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_target IS NOT NULL AND wanted_run IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.name_pair(l.target, l.payload ->> 'workflow_run_id') AS part, l.kind, l.id, /*fits_kind*/ AS fits,
                   /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE target IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running'
                    AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_run IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT l.payload ->> 'workflow_run_id' AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_workflow IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT l.workflow_id AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE workflow_id IS NOT NULL AND status <> 'running' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_target IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT l.target AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind_in_tenant*/ AS kind FROM callboard.tasks
                  WHERE target IS NOT NULL AND status <> 'running' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSIF wanted_tenant IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT l.tenant AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE tenant IS NOT NULL AND status <> 'running' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    ELSE
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT '' AS part, l.kind, l.id, /*fits_kind*/ AS fits, /*fits_itself*/ AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE status <> 'running' AND hidden_at IS NULL) AS l
        ), /*newest_of_kinds*/;
    END IF;
END $$;
