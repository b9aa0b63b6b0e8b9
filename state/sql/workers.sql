-- The workers that have not stopped, with what each runs: how many tasks of each actor, and the oldest of these tasks.
SELECT w.id, w.host, w.pid, w.version, w.queues, w.threads, w.coroutines, w.started_at, w.seen_at, w.stopping_at,
       EXISTS (SELECT FROM callboard.maintainer m
               WHERE m.worker_id = w.id AND m.expires_at > callboard.now()) AS maintainer,
       extract(epoch FROM callboard.now() - w.seen_at)::double precision AS silent_seconds,
       u.by_actor, h.tasks
FROM callboard.workers w, LATERAL (
    SELECT coalesce(jsonb_object_agg(a.actor, a.tasks), '{}') AS by_actor
    FROM (SELECT t.actor, count(*) AS tasks
          FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id
          WHERE l.worker_id = w.id GROUP BY t.actor) AS a
) AS u, LATERAL (
    SELECT coalesce(jsonb_agg(to_jsonb(o) ORDER BY o.started_at, o.task_id), '[]') AS tasks
    FROM (SELECT l.task_id, t.actor, CASE WHEN t.actor = 'agent' THEN t.payload ->> 'agent_name' END AS agent_name,
                 l.started_at, l.cancel_requested
          FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id
          WHERE l.worker_id = w.id ORDER BY l.started_at, l.task_id LIMIT %(tasks_each)s) AS o
) AS h
WHERE w.stopped_at IS NULL
ORDER BY w.host, w.started_at, w.id
