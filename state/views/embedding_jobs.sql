DROP VIEW IF EXISTS admin.embedding_jobs;
CREATE VIEW admin.embedding_jobs AS
SELECT e.id AS event_id, e.task_id, e.agent_name, e.task_type, e.tenant, j.id AS job_id, j.status, j.attempt, j.max_attempts,
       j.waiting_gate, j.error ->> 'type' AS error_type, j.error ->> 'message' AS error_message,
       CASE WHEN e.embedding IS NULL THEN e.created_at END AS waiting_since,
       CASE WHEN j.status = 'scheduled' THEN j.available_at END AS next_attempt_at, e.embedding_model, e.embedded_at
FROM callboard.agent_events e LEFT JOIN callboard.tasks j ON j.id = e.job_id
ORDER BY e.id DESC;

COMMENT ON VIEW admin.embedding_jobs IS 'The task that embeds each agent event, newest first; waiting_since is NULL when the event has its vector.';
