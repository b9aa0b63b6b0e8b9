-- Scheduled tasks whose time has come. Those of a tenant that become due together line up one behind the other, as if
-- they had come one by one.
WITH due AS MATERIALIZED (
    SELECT id, queue, lane, priority, tenant, available_at FROM callboard.tasks
    WHERE status = 'scheduled' AND available_at <= callboard.now()
    ORDER BY available_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), lined_up AS (
    SELECT due.*, row_number() OVER (PARTITION BY queue, lane, priority, tenant ORDER BY available_at, id) - 1 AS place
    FROM due
), ranked AS (
    SELECT id, place, max(CASE WHEN place = 0 THEN callboard.entry_rank(queue, lane, priority, tenant) END)
                      OVER (PARTITION BY queue, lane, priority, tenant) AS first_rank
    FROM lined_up
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        rank = CASE WHEN r.place = 0 THEN r.first_rank ELSE (r.first_rank / 2 + r.place) * 2 + 1 END,
        last_event = last_event + 1, updated_at = callboard.now()
    FROM ranked r WHERE t.id = r.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT id, last_event, 'status', '{"from": "scheduled", "to": "queued", "reason": "due"}', callboard.now()
    FROM moved
)
SELECT id, epoch, actor, queue, gates, 'scheduled' AS before, 'queued' AS status FROM moved
