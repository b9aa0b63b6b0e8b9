-- Tasks that have waited too long for a worker that knows their actor.
WITH old AS MATERIALIZED (
    SELECT t.id, substr(t.waiting_gate, length('actor:') + 1) AS wanted FROM callboard.tasks t
    WHERE t.status = 'waiting' AND t.waiting_gate >= 'actor:' AND t.waiting_gate < 'actor;'
      AND t.updated_at <= callboard.now() - make_interval(secs => %(seconds)s)
      AND NOT callboard.actor_is_known(substr(t.waiting_gate, length('actor:') + 1), t.queue)
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'dead', waiting_gate = NULL, waiting_reason = NULL, finished_at = callboard.now(),
        last_event = last_event + 1, updated_at = callboard.now(),
        error = jsonb_build_object(
            'type', 'UnknownActor', 'category', 'deploy',
            'message', format('No worker knows the actor ''%%s''; the task waited for one for %%s s', o.wanted, %(seconds)s::float8),
            'details', jsonb_build_object('actor', o.wanted), 'traceback', NULL)
    FROM old o WHERE t.id = o.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event, t.error
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT id, last_event, 'status',
           jsonb_build_object('from', 'waiting', 'to', 'dead', 'error', error - 'traceback'), callboard.now()
    FROM moved
)
SELECT id, epoch, actor, queue, gates, 'waiting' AS before, 'dead' AS status FROM moved
