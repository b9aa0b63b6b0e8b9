-- Scheduled tasks whose time has come.
WITH due AS MATERIALIZED (
    SELECT id FROM callboard.tasks
    WHERE status = 'scheduled' AND available_at <= callboard.now()
    ORDER BY available_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued', rank = callboard.entry_rank(t.queue, t.lane, t.priority, t.tenant), last_event = last_event + 1, updated_at = callboard.now()
    FROM due WHERE t.id = due.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT id, last_event, 'status', '{"from": "scheduled", "to": "queued", "reason": "due"}', callboard.now()
    FROM moved
)
SELECT id, epoch, actor, queue, gates, 'scheduled' AS before, 'queued' AS status FROM moved
