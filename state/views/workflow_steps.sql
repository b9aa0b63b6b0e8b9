DROP VIEW IF EXISTS admin.workflow_steps;
CREATE VIEW admin.workflow_steps AS
SELECT s.workflow_id, w.name AS workflow, w.tenant, s.position, s.key, s.kind, s.status, s.after, s.agent_name, s.task_type,
       s.branches AS tasks, s.decision, s.decided_by, s.note, s.expires_at, s.error ->> 'message' AS error_message,
       s.started_at, s.finished_at
FROM callboard.workflow_steps s JOIN callboard.workflows w ON w.id = s.workflow_id;

COMMENT ON VIEW admin.workflow_steps IS 'The steps of workflows, with what each waits for and who has decided.';
