INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, process_started, queues, threads, started_at, seen_at)
VALUES (%(id)s, %(host)s, %(boot_id)s, %(pid_namespace)s, %(pid)s, %(process_started)s, %(queues)s, %(threads)s,
        callboard.now(), callboard.now())
ON CONFLICT (id) DO UPDATE SET seen_at = callboard.now(), stopped_at = NULL
