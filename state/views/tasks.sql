DROP VIEW IF EXISTS admin.tasks;
CREATE VIEW admin.tasks AS
SELECT t.id, t.actor, t.payload ->> 'agent_name' AS agent_name, t.payload ->> 'task_type' AS task_type, t.workflow_id, t.queue, t.lane, t.status, t.priority, t.tenant, t.target, t.attempt, t.max_attempts, t.epoch,
       coalesce(t.progress ->> 'percent', '0') AS percent, t.progress ->> 'message' AS message, t.error ->> 'type' AS error_type,
       t.error ->> 'message' AS error_message, t.waiting_gate, t.worker_id, l.renewed_at AS heartbeat_at,
       l.expires_at AS lease_expires_at, t.cancel_requested, t.available_at, t.created_at, t.started_at, t.finished_at
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id;

COMMENT ON VIEW admin.tasks IS 'All tasks with the columns that people look for.';
