-- Counts the tasks that can still move, queued and running ones by queue and lane. Through indexes that cover only them; of
-- a caller without a tenant, queued ones need no look at their rows.
SELECT 'queued' AS status, t.queue, t.lane, count(*) AS tasks
FROM callboard.tasks t WHERE t.status = 'queued' AND (/*in_scope*/ t.tenant) GROUP BY t.queue, t.lane
UNION ALL
SELECT 'running', t.queue, t.lane, count(*)
FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id WHERE (/*in_scope*/ t.tenant) GROUP BY t.queue, t.lane
UNION ALL
SELECT 'waiting', NULL, NULL, count(*) FROM callboard.tasks t WHERE t.status = 'waiting' AND (/*in_scope*/ t.tenant)
UNION ALL
SELECT 'scheduled', NULL, NULL, count(*) FROM callboard.tasks t WHERE t.status = 'scheduled' AND (/*in_scope*/ t.tenant)
UNION ALL
SELECT 'paused', NULL, NULL, count(*) FROM callboard.tasks t WHERE t.status = 'paused' AND (/*in_scope*/ t.tenant)
