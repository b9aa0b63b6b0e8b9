-- Whether workers live, which queues they take tasks of, which queues are closed, and whether somebody does the housekeeping.
WITH alive AS MATERIALIZED (
    SELECT w.queues, w.threads, w.coroutines, w.started_at FROM callboard.workers w
    WHERE w.stopped_at IS NULL AND w.seen_at > callboard.now() - make_interval(secs => %(silent_seconds)s)
)
SELECT callboard.now() AS at,
       (SELECT count(*) FROM alive) AS workers,
       (SELECT coalesce(sum(a.threads), 0)::bigint FROM alive a) AS threads,
       (SELECT coalesce(sum(a.coroutines), 0)::bigint FROM alive a) AS coroutines,
       (SELECT min(a.started_at) FROM alive a) AS working_since,
       (SELECT max(w.seen_at) FROM callboard.workers w) AS last_seen_at,
       ARRAY(SELECT DISTINCT q FROM alive a, unnest(a.queues) AS q) AS consumed,
       ARRAY(SELECT substr(g.key, 7) FROM callboard.gates g
             WHERE g.key LIKE 'queue:%%' AND (g.paused OR g.closed_until > callboard.now())) AS closed_queues,
       m.worker_id IS NOT NULL AND m.expires_at > callboard.now() AS maintained, m.expires_at AS maintained_until,
       greatest((SELECT max(l.started_at) FROM callboard.leases l),
                (SELECT max(n.started_at)
                 FROM (SELECT t.started_at FROM callboard.tasks t ORDER BY t.id DESC LIMIT 100) AS n)) AS last_started_at
FROM callboard.maintainer m
