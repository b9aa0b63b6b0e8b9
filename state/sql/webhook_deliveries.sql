-- Lists the deliveries of a task's events in the order of their creation. A delivery's last answer is in its result or, until
-- it has one, in its last error.
SELECT d.n, 'task.' || (e.data ->> 'to') AS type, e.at, d.delivery_id, j.status, j.attempt, j.max_attempts,
       coalesce(j.result ->> 'status', j.error #>> '{details,status}')::integer AS response_status,
       coalesce(j.result ->> 'duration_ms', j.error #>> '{details,duration_ms}')::integer AS duration_ms,
       j.error - 'traceback' AS error, j.created_at, j.finished_at,
       CASE WHEN j.status = 'scheduled' THEN j.available_at END AS next_attempt_at
FROM callboard.webhook_deliveries d
JOIN callboard.tasks j ON j.id = d.delivery_id
JOIN callboard.events e ON e.task_id = d.task_id AND e.n = d.n
WHERE d.task_id = %(id)s AND d.delivery_id > %(after)s AND (/*in_scope*/ j.tenant)
ORDER BY d.delivery_id
LIMIT %(limit)s
