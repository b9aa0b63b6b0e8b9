-- CTEs that pause the tasks that a CTE `mine` has locked: id, status, is_new, spent.
moved AS (
    UPDATE callboard.tasks t
    SET status = CASE WHEN m.status = 'running' THEN 'running' WHEN m.spent THEN 'dead' ELSE 'paused' END,
        cancel_requested = CASE WHEN m.status = 'running' THEN 'pause' END,
        error = CASE WHEN m.spent THEN jsonb_build_object(
                    'type', 'TokenLimitExceeded', 'category', 'permanent', 'traceback', NULL,
                    'message', format('The task has used %%s tokens; the limit is %%s.', t.tokens, %(token_limit)s::bigint),
                    'details', jsonb_build_object('tokens', t.tokens, 'limit', %(token_limit)s::bigint))
                ELSE t.error END,
        finished_at = CASE WHEN m.spent THEN callboard.now() END,
        /*leave_line*/,
        last_event = t.last_event + m.is_new::integer,
        updated_at = callboard.now()
    FROM mine m
    WHERE t.id = m.id
    RETURNING /*moved_task*/, m.status AS before, t.cancel_requested, 'pause' AS request, m.is_new, %(by)s::text AS by,
              CASE WHEN m.spent THEN t.error - 'traceback' END AS error
), /*request_stop*/, logged AS (
    /*log_move*/ jsonb_strip_nulls(jsonb_build_object('from', m.before, 'to', m.status, 'error', m.error, 'by', m.by))
    FROM moved m WHERE m.status <> 'running'
)
