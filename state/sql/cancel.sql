-- Cancels a task that no worker runs. A running task is asked to stop: its worker sees the request at its next pulse.
-- Returns no row for a task that is finished.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.status IN (/*live*/) AND (/*in_scope*/ t.tenant) AND /*lock_parent*/
    FOR NO KEY UPDATE
), moved AS (
    UPDATE callboard.tasks t
    SET status = CASE WHEN m.status = 'running' THEN 'running' ELSE 'canceled' END,
        -- A request to cancel does not weaken one to force.
        cancel_requested = CASE WHEN m.status = 'running' AND t.cancel_requested = 'force' THEN 'force'
                                WHEN m.status = 'running' THEN %(request)s END,
        finished_at = CASE WHEN m.status <> 'running' THEN callboard.now() END,
        /*leave_line*/,
        /*count_move*/
    FROM mine m
    WHERE t.id = m.id
    RETURNING /*moved_task*/, m.status AS before, t.cancel_requested, %(request)s::text AS request, true AS is_new,
              %(by)s::text AS by
), /*request_stop*/, logged AS (
    /*log_move*/ jsonb_strip_nulls(jsonb_build_object('from', m.before, 'to', m.status, 'by', m.by))
    FROM moved m WHERE m.status <> 'running'
)
SELECT /*move_result*/ FROM moved m
