-- CTEs that cancel the tasks that a CTE `mine` has locked: id, status.
moved AS (
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
