-- Reads what workers that are gone have left to be written. Gone means the same as in sweep_lost. A task that another
-- session has locked is skipped, as there, and found again by the next sweep.
SELECT l.task_id, l.epoch, l.worker_id, l.on_loss
FROM callboard.leases l, LATERAL (
    SELECT FROM callboard.tasks t
    WHERE t.id = l.task_id AND t.epoch = l.epoch AND t.status = 'running'
    FOR NO KEY UPDATE SKIP LOCKED
) t
WHERE l.on_loss IS NOT NULL
  AND (l.worker_id = ANY (%(dead_workers)s)
       OR l.worker_id = ANY (%(silent_workers)s)
          AND (l.expires_at <= callboard.now() OR l.renewed_at > callboard.now())
          AND l.renewed_at <= (%(silent_renewed)s::timestamptz[])[array_position(%(silent_workers)s::text[], l.worker_id)])
ORDER BY l.task_id
