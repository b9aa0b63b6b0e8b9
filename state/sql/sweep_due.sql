-- Queues scheduled tasks whose time has come. Tasks of one tenant that become due together get ranks one after the
-- other, as if they had come one by one.
WITH due AS MATERIALIZED (
    SELECT id, queue, lane, priority, tenant, available_at FROM callboard.tasks
    WHERE status = 'scheduled' AND available_at <= callboard.now()
    ORDER BY available_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), numbered AS (
    SELECT due.*, row_number() OVER (PARTITION BY queue, lane, priority, tenant ORDER BY available_at, id) - 1 AS place
    FROM due
), ranked AS (
    SELECT id, place, max(CASE WHEN place = 0 THEN callboard.entry_rank(queue, lane, priority, tenant) END)
                      OVER (PARTITION BY queue, lane, priority, tenant) AS first_rank
    FROM numbered
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        rank = CASE WHEN r.place = 0 THEN r.first_rank ELSE (r.first_rank / 2 + r.place) * 2 + 1 END,
        /*count_move*/
    FROM ranked r
    WHERE t.id = r.id
    RETURNING /*moved_task*/, 'scheduled' AS before
), logged AS (
    /*log_move*/ '{"from": "scheduled", "to": "queued", "reason": "due"}' FROM moved m
)
SELECT /*move_result*/ FROM moved m
