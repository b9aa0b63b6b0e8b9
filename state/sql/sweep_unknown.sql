-- Ends tasks that have waited too long for a worker that knows their actor.
WITH old AS MATERIALIZED (
    SELECT t.id, substr(t.waiting_gate, length('actor:') + 1) AS wanted FROM callboard.tasks t
    WHERE t.status = 'waiting' AND t.waiting_gate >= 'actor:' AND t.waiting_gate < 'actor;'
      AND t.updated_at <= callboard.now() - make_interval(secs => %(seconds)s)
      AND NOT callboard.actor_is_known(substr(t.waiting_gate, length('actor:') + 1), t.queue)
      AND /*try_lock_parent*/
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'dead',
        error = jsonb_build_object(
            'type', 'UnknownActor', 'category', 'deploy',
            'message', format('No worker knows the actor ''%%s''; the task waited for one for %%s s', o.wanted, %(seconds)s::float8),
            'details', jsonb_build_object('actor', o.wanted), 'traceback', NULL),
        finished_at = callboard.now(),
        /*leave_line*/,
        /*count_move*/
    FROM old o
    WHERE t.id = o.id
    RETURNING /*moved_task*/, 'waiting' AS before, t.error
), logged AS (
    /*log_move*/ jsonb_build_object('from', m.before, 'to', m.status, 'error', m.error - 'traceback') FROM moved m
)
SELECT /*move_result*/ FROM moved m
