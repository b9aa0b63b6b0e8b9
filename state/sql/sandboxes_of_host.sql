-- Finds the sandboxes of a machine that have not ended, with the workers that opened them. Before a reboot of the
-- machine there was another kernel: nothing of it is left.
SELECT s.id, s.task_id, s.kind, s.pid, s.start_ticks, s.workspace, s.container, s.control_groups, s.survivors,
       s.survivor_ticks, s.worker_id, w.pid AS worker_pid, w.start_ticks AS worker_ticks,
       s.boot_id <> %(boot_id)s AS rebooted
FROM callboard.sandboxes s LEFT JOIN callboard.workers w ON w.id = s.worker_id
WHERE s.ended_at IS NULL AND s.host = %(host)s
  AND (s.boot_id <> %(boot_id)s OR s.pid_namespace = %(pid_namespace)s)
ORDER BY s.id
