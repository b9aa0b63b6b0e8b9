SELECT g.key, g.max_concurrent, g.declared_concurrent, g.rate_count, g.rate_seconds, g.paused, g.closed_until,
       g.breaker_threshold, g.breaker_volume, g.breaker_window, g.breaker_seconds, g.breaker_state,
       g.breaker_changed_at, g.probe_task,
       (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key) AS running,
       (SELECT count(*) FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = g.key) AS waiting
FROM callboard.gates g
WHERE %(key)s::text IS NULL OR g.key = %(key)s
ORDER BY g.key
