-- The last sign of life of every worker that has not stopped, and of every one that has leases, with or without a row in
-- workers.
SELECT coalesce(w.id, l.worker_id) AS worker_id, w.seen_at, l.renewed_at
FROM (SELECT id, seen_at FROM callboard.workers WHERE stopped_at IS NULL) w
FULL JOIN (SELECT worker_id, max(renewed_at) AS renewed_at FROM callboard.leases GROUP BY worker_id) l
  ON l.worker_id = w.id
