-- Worker processes that should live on this very machine, where a look at the process table tells whether they do.
SELECT id, pid, process_started FROM callboard.workers
WHERE stopped_at IS NULL AND host = %(host)s AND boot_id = %(boot_id)s AND pid_namespace = %(pid_namespace)s
