-- Marks workers as stopped whose host has vanished: they are silent on the observer's clock, which names them, and on
-- the database's clock.
UPDATE callboard.workers w SET stopped_at = callboard.now()
WHERE w.id = ANY (%(silent_workers)s) AND w.stopped_at IS NULL
  AND (w.seen_at <= callboard.now() - make_interval(secs => %(lease_seconds)s) OR w.seen_at > callboard.now())
  AND w.seen_at <= (%(silent_seen)s::timestamptz[])[array_position(%(silent_workers)s::text[], w.id)]
  AND NOT EXISTS (SELECT FROM callboard.leases l WHERE l.worker_id = w.id)
