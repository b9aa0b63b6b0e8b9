-- Ends tasks that have grown too old before they could start.
WITH old AS MATERIALIZED (
    SELECT t.id, t.status FROM callboard.tasks t
    WHERE t.expires_at <= callboard.now() AND t.status IN (/*startable*/) AND /*try_lock_parent*/
    ORDER BY t.expires_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'dead',
        error = jsonb_build_object(
            'type', 'Expired', 'category', 'permanent', 'message', 'The task grew too old before it could start',
            'details', jsonb_build_object('expired_at', t.expires_at), 'traceback', NULL),
        finished_at = callboard.now(),
        /*leave_line*/,
        /*count_move*/
    FROM old
    WHERE t.id = old.id
    RETURNING /*moved_task*/, old.status AS before, t.error
), logged AS (
    /*log_move*/ jsonb_build_object('from', m.before, 'to', m.status, 'error', m.error - 'traceback') FROM moved m
)
SELECT /*move_result*/ FROM moved m
