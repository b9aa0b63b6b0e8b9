DROP VIEW IF EXISTS admin.webhook_deliveries;
CREATE VIEW admin.webhook_deliveries AS
SELECT d.task_id, d.n, 'task.' || (e.data ->> 'to') AS type, j.tenant, j.payload ->> 'gate' AS gate, d.delivery_id, j.status,
       j.attempt, j.max_attempts, coalesce(j.result ->> 'status', j.error #>> '{details,status}') AS response_status,
       coalesce(j.result ->> 'duration_ms', j.error #>> '{details,duration_ms}') AS duration_ms,
       j.error ->> 'type' AS error_type, j.error ->> 'message' AS error_message, j.created_at, j.finished_at,
       CASE WHEN j.status = 'scheduled' THEN j.available_at END AS next_attempt_at
FROM callboard.webhook_deliveries d
JOIN callboard.tasks j ON j.id = d.delivery_id
LEFT JOIN callboard.events e ON e.task_id = d.task_id AND e.n = d.n  -- none if its partition was detached
ORDER BY d.delivery_id DESC;

COMMENT ON VIEW admin.webhook_deliveries IS 'Deliveries of events to webhooks, newest first, with the last answer of the receiver.';
