DROP VIEW IF EXISTS admin.agent_events;
CREATE VIEW admin.agent_events AS
SELECT e.id AS event_id, e.created_at, e.agent_name, e.task_type, e.tenant, e.task_id, e.workflow_id, left(e.text, 200) AS text,
       e.embedding_model, array_length(e.embedding, 1) AS dimensions, e.embedded_at, e.hidden_at
FROM callboard.agent_events e
ORDER BY e.id DESC;

COMMENT ON VIEW admin.agent_events IS 'What agents have done, newest first: what ctx.recall and callboard recall find.';
