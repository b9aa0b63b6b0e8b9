-- Finds the workers that should be running on this very machine, whose kernel knows whether they are.
SELECT id, pid, start_ticks FROM callboard.workers
WHERE stopped_at IS NULL AND host = %(host)s AND boot_id = %(boot_id)s AND pid_namespace = %(pid_namespace)s
  AND id <> %(id)s
