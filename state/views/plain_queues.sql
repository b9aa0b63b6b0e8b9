DROP VIEW IF EXISTS admin.plain_queues;
CREATE VIEW admin.plain_queues AS
SELECT q.queue_name AS queue, q.state, count(*) AS messages, min(q.mtime) AS oldest
FROM dramatiq.queue q
GROUP BY q.queue_name, q.state;

COMMENT ON VIEW admin.plain_queues IS 'Messages of plain Dramatiq actors by queue and state. Tasks are in queue_status.';
