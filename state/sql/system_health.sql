-- Says whether there is work and whether any worker does it.
WITH RECURSIVE /*queue_heads*/, running AS (
    SELECT count(*) AS tasks, max(started_at) AS started_at FROM callboard.leases WHERE expires_at > callboard.now()
), newest AS (
    SELECT max(n.started_at) AS started_at
    FROM (SELECT started_at FROM callboard.tasks ORDER BY id DESC LIMIT 100) n
), alive AS (
    SELECT count(*) AS workers, extract(epoch FROM callboard.now() - max(seen_at))::double precision AS silent_seconds
    FROM callboard.workers
    WHERE stopped_at IS NULL AND seen_at > callboard.now() - make_interval(secs => %(lease_seconds)s)
)
SELECT a.workers, a.silent_seconds, r.tasks AS running,
       (SELECT extract(epoch FROM callboard.now() - min(available_at))::double precision FROM heads)
           AS oldest_queued_seconds,
       extract(epoch FROM callboard.now() - greatest(r.started_at, n.started_at))::double precision
           AS last_started_seconds,
       (r.tasks > 0 OR EXISTS (SELECT FROM heads) OR EXISTS (SELECT FROM callboard.tasks WHERE status = 'waiting')
        OR EXISTS (SELECT FROM callboard.tasks WHERE status = 'scheduled' AND available_at <= callboard.now()))
           AS has_work,
       (SELECT coalesce(jsonb_object_agg(key, breaker_state), '{}') FROM callboard.gates
        WHERE breaker_threshold IS NOT NULL) AS breakers,
       ARRAY(SELECT actor FROM callboard.awaited_actors() WHERE NOT known ORDER BY actor) AS unknown_actors
FROM alive a, running r, newest n
