-- Worker processes that should live on this very machine, where the kernel knows whether they do.
SELECT id, pid, start_ticks FROM callboard.workers
WHERE stopped_at IS NULL AND host = %(host)s AND boot_id = %(boot_id)s AND pid_namespace = %(pid_namespace)s
  AND id <> %(id)s
