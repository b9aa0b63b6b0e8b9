DROP VIEW IF EXISTS admin.queue_status;
CREATE VIEW admin.queue_status AS
SELECT t.queue, t.status, t.lane, count(*) AS tasks, min(t.available_at) AS oldest
FROM callboard.tasks t
WHERE t.status IN ('queued', 'waiting', 'scheduled', 'running', 'paused', 'dead')
GROUP BY t.queue, t.status, t.lane;
