DROP VIEW IF EXISTS admin.attempts;
CREATE VIEW admin.attempts AS
SELECT a.task_id, a.epoch, a.attempt, t.actor, t.tenant, a.worker_id, a.outcome, a.error ->> 'type' AS error_type,
       a.error ->> 'category' AS category, a.error ->> 'message' AS error_message, a.started_at, a.finished_at,
       a.finished_at - a.started_at AS duration
FROM callboard.attempts a JOIN callboard.tasks t ON t.id = a.task_id;

COMMENT ON VIEW admin.attempts IS 'Executions that have ended: where, for how long, and how. Filter by task_id: only its month is read then.';
