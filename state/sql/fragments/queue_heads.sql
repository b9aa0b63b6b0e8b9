-- The first task of each queue, lane and priority, found by jumping from one to the next in the claim's index: a million
-- queued tasks cost no more than a few.
heads AS (
    (SELECT queue, lane, priority, available_at FROM callboard.tasks WHERE status = 'queued'
     ORDER BY queue, lane, priority, rank LIMIT 1)
    UNION ALL
    SELECT n.queue, n.lane, n.priority, n.available_at
    FROM heads h, LATERAL (
        SELECT t.queue, t.lane, t.priority, t.available_at FROM callboard.tasks t
        WHERE t.status = 'queued' AND (t.queue, t.lane, t.priority) > (h.queue, h.lane, h.priority)
        ORDER BY t.queue, t.lane, t.priority, t.rank LIMIT 1
    ) n
)
