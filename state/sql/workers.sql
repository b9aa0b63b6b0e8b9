SELECT w.id, w.host, w.pid, w.queues, w.threads, w.coroutines, w.started_at, w.seen_at, w.stopped_at,
       (SELECT count(*) FROM callboard.leases l WHERE l.worker_id = w.id) AS running,
       extract(epoch FROM callboard.now() - w.seen_at)::double precision AS silent_seconds
FROM callboard.workers w
WHERE w.stopped_at IS NULL
ORDER BY w.started_at
