-- Enters a sandbox whose command has not started yet. No row, and no command, if the worker no longer owns the task.
INSERT INTO callboard.sandboxes (id, task_id, epoch, worker_id, host, boot_id, pid_namespace, pid, start_ticks, kind,
                                 workspace, container, control_groups, started_at)
SELECT %(id)s, t.id, t.epoch, t.worker_id, %(host)s, %(boot_id)s, %(pid_namespace)s, %(pid)s, %(start_ticks)s, %(kind)s,
       %(workspace)s, %(container)s, %(control_groups)s, callboard.now()
FROM callboard.tasks t
WHERE t.id = %(task_id)s AND t.epoch = %(epoch)s AND t.worker_id = %(worker)s AND t.status = 'running'
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind
RETURNING id
