-- Counts tasks that are not terminal, through indexes that cover only them: a monitor must not read the history.
SELECT s.status, s.tasks FROM (
    SELECT 'queued' AS status, count(*) AS tasks FROM callboard.tasks WHERE status = 'queued'
    UNION ALL SELECT 'waiting', count(*) FROM callboard.tasks WHERE status = 'waiting'
    UNION ALL SELECT 'scheduled', count(*) FROM callboard.tasks WHERE status = 'scheduled'
    UNION ALL SELECT 'running', count(*) FROM callboard.leases
    UNION ALL SELECT status, count(*) FROM callboard.tasks WHERE status IN ('paused', 'dead') GROUP BY status
) AS s
