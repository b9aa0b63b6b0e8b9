DROP VIEW IF EXISTS admin.queue_status;
-- A part for each status: each has an index that covers only it, so the history is not read.
CREATE VIEW admin.queue_status AS
SELECT t.queue, t.status, t.lane, count(*) AS tasks, min(t.available_at) AS oldest
FROM (
    SELECT q.queue, q.status, q.lane, q.available_at FROM callboard.tasks q WHERE q.status = 'queued'
    UNION ALL
    SELECT w.queue, w.status, w.lane, w.available_at FROM callboard.tasks w WHERE w.status = 'waiting'
    UNION ALL
    SELECT s.queue, s.status, s.lane, s.available_at FROM callboard.tasks s WHERE s.status = 'scheduled'
    UNION ALL
    SELECT r.queue, r.status, r.lane, r.available_at
    FROM callboard.leases l JOIN callboard.tasks r ON r.id = l.task_id AND r.status = 'running'
    UNION ALL
    SELECT p.queue, p.status, p.lane, p.available_at FROM callboard.tasks p WHERE p.status = 'paused'
    UNION ALL
    SELECT d.queue, d.status, d.lane, d.available_at FROM callboard.tasks d WHERE d.status = 'dead' AND d.hidden_at IS NULL
) AS t
GROUP BY t.queue, t.status, t.lane;

COMMENT ON VIEW admin.queue_status IS 'Tasks that are not terminal by queue, status and lane, without deleted ones.';
