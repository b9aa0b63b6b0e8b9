-- Cancels a workflow and everything of it that lives: tasks that no worker runs at once, running ones are asked to stop.
-- Returns the status that the workflow had, and a row for each of the tasks; only the status if it cannot be canceled.
CREATE OR REPLACE FUNCTION callboard.cancel_workflow(its_id text, why text, by_whom text) RETURNS TABLE (
    workflow_status text, id text, epoch integer, actor text, queue text, before text, status text, gates text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    its_status text;
    its_key text;
BEGIN
    PERFORM FROM callboard.workflows w WHERE w.id = its_id FOR NO KEY UPDATE;
    SELECT w.status INTO its_status FROM callboard.workflows w WHERE w.id = its_id;
    IF its_status IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT its_status, NULL::text, NULL::integer, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text[];
    IF its_status NOT IN ('running', 'failed', 'escalated') THEN
        RETURN;
    END IF;
    PERFORM callboard.move_workflow(its_id, 'canceled', why, by_whom);
    FOR its_key IN
        SELECT s.key FROM callboard.workflow_steps s
        WHERE s.workflow_id = its_id AND s.status IN ('pending', 'waiting') ORDER BY s.position
    LOOP
        PERFORM callboard.move_step(its_id, its_key, 'canceled', '{}');
    END LOOP;
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id, t.status FROM callboard.tasks t
        WHERE t.workflow_id = its_id AND t.status NOT IN (/*terminal*/) AND t.status IN (/*live*/)
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = CASE WHEN m.status = 'running' THEN 'running' ELSE 'canceled' END,
            cancel_requested = CASE WHEN m.status = 'running' AND t.cancel_requested = 'force' THEN 'force'
                                    WHEN m.status = 'running' THEN 'cancel' END,
            finished_at = CASE WHEN m.status <> 'running' THEN callboard.now() END,
            /*leave_line*/,
            /*count_move*/
        FROM mine m
        WHERE t.id = m.id
        RETURNING /*moved_task*/, m.status AS before, t.cancel_requested, 'cancel' AS request, true AS is_new, by_whom AS by
    ), /*request_stop*/, logged AS (
        /*log_move*/ jsonb_strip_nulls(jsonb_build_object(
            'from', m.before, 'to', m.status, 'reason', 'workflow canceled', 'by', m.by))
        FROM moved m WHERE m.status <> 'running'
    )
    SELECT its_status, /*move_result*/ FROM moved m;
END $$;
