-- Counts the tasks of each status, without those that were deleted. Tasks that can still move are counted through indexes
-- that cover only them, and finished ones by what finished_counts has: a monitor must not read the history.
SELECT s.status, s.tasks FROM (
    SELECT 'queued' AS status, count(*) AS tasks FROM callboard.tasks WHERE status = 'queued'
    UNION ALL SELECT 'waiting', count(*) FROM callboard.tasks WHERE status = 'waiting'
    UNION ALL SELECT 'scheduled', count(*) FROM callboard.tasks WHERE status = 'scheduled'
    UNION ALL SELECT 'running', count(*) FROM callboard.leases
    UNION ALL SELECT 'paused', count(*) FROM callboard.tasks WHERE status = 'paused'
    UNION ALL SELECT status, sum(tasks)::bigint FROM callboard.finished_counts GROUP BY status
) AS s
