DROP VIEW IF EXISTS admin.workers;
CREATE VIEW admin.workers AS
SELECT w.id, w.host, w.pid, w.queues, w.threads, w.coroutines, w.started_at, w.seen_at, callboard.now() - w.seen_at AS silent_for,
       (SELECT count(*) FROM callboard.leases l WHERE l.worker_id = w.id) AS running,
       EXISTS (SELECT FROM callboard.maintainer m WHERE m.worker_id = w.id AND m.expires_at > callboard.now()) AS maintainer
FROM callboard.workers w WHERE w.stopped_at IS NULL;

COMMENT ON VIEW admin.workers IS 'Workers that have not stopped.';
