DROP VIEW IF EXISTS admin.sandboxes;
CREATE VIEW admin.sandboxes AS
SELECT s.id, s.task_id, t.status AS task_status, s.kind, s.host, s.worker_id,
       w.id IS NOT NULL AND w.stopped_at IS NULL AS worker_alive, s.pid, s.survivors, s.container, s.workspace, s.started_at, callboard.now() - s.started_at AS running_for
FROM callboard.sandboxes s
LEFT JOIN callboard.tasks t ON t.id = s.task_id
LEFT JOIN callboard.workers w ON w.id = s.worker_id
WHERE s.ended_at IS NULL;

COMMENT ON VIEW admin.sandboxes IS 'Sandboxes whose processes are not known to be gone. Those of a finished task, or with survivors, need a look.';
