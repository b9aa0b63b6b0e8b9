-- Not one that still has leases: it stays among the siblings, who recover its tasks when it is dead.
WITH vacated AS (
    UPDATE callboard.maintainer SET worker_id = NULL, expires_at = NULL WHERE worker_id = ANY (%(ids)s)
)
UPDATE callboard.workers w SET stopped_at = callboard.now()
WHERE w.id = ANY (%(ids)s) AND w.stopped_at IS NULL
  AND NOT EXISTS (SELECT FROM callboard.leases l WHERE l.worker_id = w.id)
