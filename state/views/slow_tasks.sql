DROP VIEW IF EXISTS admin.slow_tasks;
CREATE VIEW admin.slow_tasks AS
SELECT t.id, t.actor, t.worker_id, t.attempt, callboard.now() - l.started_at AS running_for, p.seconds AS usual_seconds,
       t.progress ->> 'message' AS message
FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id
LEFT JOIN callboard.actor_pace p ON p.actor = t.actor
WHERE callboard.now() - l.started_at > make_interval(secs => greatest(3 * coalesce(p.seconds, 60), 60));

COMMENT ON VIEW admin.slow_tasks IS 'Running tasks that take three times as long as is usual for their actor, and at least a minute.';
