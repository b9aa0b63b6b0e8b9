SELECT w.id, a.epoch, a.attempt, a.worker_id, a.outcome, a.error, a.started_at, a.finished_at
FROM unnest(%(ids)s::text[], %(afters)s::integer[]) AS w (id, after),
     callboard.attempts_after(w.id, w.after, %(limit)s) AS a
ORDER BY w.id, a.epoch
