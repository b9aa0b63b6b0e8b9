DROP VIEW IF EXISTS admin.runs;
CREATE VIEW admin.runs AS
SELECT r.id, r.project_id, p.name AS project, r.mode, i.title AS item, i.agent_name, i.task_type, t.status, r.outcome,
       r.reason, r.created_at, r.started_at, r.ended_at, coalesce(r.ended_at, callboard.now()) - r.started_at AS duration,
       t.attempt, t.error ->> 'type' AS error_type, t.error ->> 'message' AS error_message
FROM callboard.runs r
JOIN callboard.projects p ON p.id = r.project_id
LEFT JOIN callboard.project_items i ON i.id = r.item_id
LEFT JOIN callboard.tasks t ON t.id = r.id;

COMMENT ON VIEW admin.runs IS 'Runs of projects: what each has done, how long it took, and why the queue stopped with it.';
