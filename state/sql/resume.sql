-- Keeps its lane and its checkpoint. Its age stood still while it was paused.
WITH mine AS MATERIALIZED (
    SELECT t.id FROM callboard.tasks t WHERE t.id = %(id)s AND t.status = 'paused' FOR NO KEY UPDATE
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        rank = callboard.entry_rank(t.queue, t.lane, t.priority, t.tenant),
        available_at = least(t.available_at, callboard.now()),
        expires_at = t.expires_at + (callboard.now() - t.updated_at),
        bounces = 0,
        last_event = t.last_event + 1,
        updated_at = callboard.now()
    FROM mine m
    WHERE t.id = m.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.last_event
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT m.id, m.last_event, 'status', '{"from": "paused", "to": "queued", "reason": "resumed"}', callboard.now()
    FROM moved m
)
SELECT m.id, m.epoch, m.actor, m.queue, 'paused' AS before, 'queued' AS status FROM moved m
