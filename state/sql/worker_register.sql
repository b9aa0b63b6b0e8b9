INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, start_ticks, queues, threads,
                               coroutines, actors, version,
                               started_at, seen_at)
VALUES (%(id)s, %(host)s, %(boot_id)s, %(pid_namespace)s, %(pid)s, %(start_ticks)s, %(queues)s,
        %(threads)s, %(coroutines)s, %(actors)s, %(version)s, callboard.now(), callboard.now())
ON CONFLICT (id) DO UPDATE SET actors = excluded.actors, seen_at = callboard.now(), stopped_at = NULL
