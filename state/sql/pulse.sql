-- Renews all leases of a worker. Rows that another session has locked are skipped: waiting for them could deadlock, or
-- last. Returns every lease, with whether it was renewed, and all else that an idle worker needs to know, so that this
-- is the only statement that it sends.
WITH me AS (
    SELECT id, host, boot_id, pid_namespace FROM callboard.workers WHERE id = %(worker)s
), seen AS (
    UPDATE callboard.workers w
    SET seen_at = callboard.now(), stopped_at = NULL,
        stopping_at = CASE WHEN %(stopping)s THEN coalesce(w.stopping_at, callboard.now()) END
    FROM (SELECT id FROM callboard.workers WHERE id = %(worker)s FOR NO KEY UPDATE SKIP LOCKED) AS free
    WHERE w.id = free.id
), mine AS MATERIALIZED (
    SELECT task_id FROM callboard.leases
    WHERE worker_id = %(worker)s
    ORDER BY task_id
    FOR UPDATE SKIP LOCKED
), renewed AS (
    UPDATE callboard.leases l
    SET renewed_at = callboard.now(), expires_at = callboard.now() + make_interval(secs => %(lease_seconds)s)
    FROM mine WHERE l.task_id = mine.task_id
), held AS (
    SELECT jsonb_agg(jsonb_build_object(
        'id', l.task_id, 'epoch', l.epoch, 'claim_number', l.claim_number, 'cancel_requested', l.cancel_requested,
        'renewed', m.task_id IS NOT NULL)) AS leases
    FROM callboard.leases l LEFT JOIN mine m ON m.task_id = l.task_id WHERE l.worker_id = %(worker)s
), beside AS (
    SELECT jsonb_agg(jsonb_build_object('id', w.id, 'pid', w.pid, 'start_ticks', w.start_ticks)) AS siblings
    FROM me JOIN callboard.workers w
      ON w.host = me.host AND w.boot_id = me.boot_id AND w.pid_namespace = me.pid_namespace
    WHERE w.stopped_at IS NULL AND w.id <> %(worker)s
), boxes AS (
    SELECT EXISTS (SELECT FROM me JOIN callboard.sandboxes s ON s.host = me.host
                   WHERE s.ended_at IS NULL) AS open_sandboxes
)
SELECT coalesce(h.leases, '[]') AS leases, coalesce(n.siblings, '[]') AS siblings, b.has_work, b.retry_depth,
       x.open_sandboxes, EXISTS (SELECT FROM me) AS registered,
       -- A lease that ends further ahead than a lease is long was written before the clock was stepped back.
       m.worker_id IS NULL OR callboard.now() NOT BETWEEN
           m.expires_at - make_interval(secs => %(maintainer_seconds)s) AND m.expires_at AS maintainer_vacant
FROM held h, beside n, boxes x, callboard.backlog(%(queues)s, %(retry_limit)s) b, callboard.maintainer m
