-- Marks workers as stopped, except those that still have leases: their siblings go on looking whether they are dead,
-- and recover their tasks then.
WITH vacated AS (
    UPDATE callboard.maintainer SET worker_id = NULL, expires_at = NULL WHERE worker_id = ANY (%(ids)s)
)
UPDATE callboard.workers w SET stopped_at = callboard.now()
WHERE w.id = ANY (%(ids)s) AND w.stopped_at IS NULL
  AND NOT EXISTS (SELECT FROM callboard.leases l WHERE l.worker_id = w.id)
