DROP VIEW IF EXISTS admin.workers;
CREATE VIEW admin.workers AS
SELECT w.id, w.host, w.pid, w.queues, w.threads, w.started_at, w.seen_at, callboard.now() - w.seen_at AS silent_for,
       (SELECT count(*) FROM callboard.leases l WHERE l.worker_id = w.id) AS running
FROM callboard.workers w WHERE w.stopped_at IS NULL;
