-- Tasks that have grown too old before they could start.
WITH old AS MATERIALIZED (
    SELECT id, status FROM callboard.tasks
    WHERE expires_at <= callboard.now() AND status IN ('scheduled', 'queued', 'waiting')
    ORDER BY expires_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'dead', waiting_gate = NULL, waiting_reason = NULL, woken_for = NULL, woken_at = NULL, finished_at = callboard.now(), last_event = last_event + 1, updated_at = callboard.now(),
        error = jsonb_build_object(
            'type', 'Expired', 'category', 'permanent', 'message', 'The task grew too old before it could start',
            'details', jsonb_build_object('expired_at', t.expires_at), 'traceback', NULL)
    FROM old WHERE t.id = old.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event, t.error, old.status AS before
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT id, last_event, 'status',
           jsonb_build_object('from', before, 'to', 'dead', 'error', error - 'traceback'), callboard.now()
    FROM moved
)
SELECT id, epoch, actor, queue, gates, before, 'dead' AS status FROM moved
