-- Returns groups of dead letters with the same error (see error_fingerprint), newest first, a row for each kind of task in them:
-- `id`: the newest dead letter of the group; hours: tasks by full hours since they died, 24: longer ago. Counting stops after a
-- number of tasks: then oldest_seen is when the oldest one died, and the others are those of the newest ones.
-- wanted: as in newest_tasks, {actor, agent_name, task_type, error_type, tenant, scope, died_by, fingerprint}. Beside a huge
-- number of groups, some of them are found: those of the first `most_found` kinds.
CREATE OR REPLACE FUNCTION callboard.error_groups(wanted jsonb, before_id text, most integer) RETURNS TABLE (
    id text, fingerprint callboard.fingerprint, actor text, tasks bigint, first_seen timestamptz, last_seen timestamptz, hours jsonb,
    oldest_seen timestamptz
) LANGUAGE plpgsql STABLE
-- As in newest_tasks: every step is a look into an index.
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    counted CONSTANT integer := 20000;
    most_of_kind CONSTANT integer := 10000;
    most_found CONSTANT integer := 5000;
    moment CONSTANT timestamptz := callboard.now();
    wanted_tenant text := coalesce(wanted ->> 'scope', wanted ->> 'tenant');
    wanted_group text := wanted ->> 'fingerprint';
    died_by timestamptz := wanted ->> 'died_by';
BEGIN
    before_id := coalesce(before_id, chr(1114111));  -- after every id
    IF wanted_tenant IS NOT NULL THEN
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.error_fingerprint(l.error) AS fingerprint, l.kind, l.id, l.actor, l.finished_at,
                   /*fits_kind*/ AS fits, died_by IS NULL OR l.finished_at <= died_by AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE tenant = wanted_tenant AND status = 'dead' AND hidden_at IS NULL) AS l
        ), /*error_groups*/;
    ELSE
        RETURN QUERY
        WITH RECURSIVE listed AS NOT MATERIALIZED (
            SELECT callboard.error_fingerprint(l.error) AS fingerprint, l.kind, l.id, l.actor, l.finished_at,
                   /*fits_kind*/ AS fits, died_by IS NULL OR l.finished_at <= died_by AS itself
            FROM (SELECT /*filter_columns*/, /*kind*/ AS kind FROM callboard.tasks
                  WHERE status = 'dead' AND hidden_at IS NULL) AS l
        ), /*error_groups*/;
    END IF;
END $$;
