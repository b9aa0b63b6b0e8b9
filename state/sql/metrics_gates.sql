-- Not the gates of tenants, targets, actors and receivers of webhooks: there may be any number of them, and submitters name
-- them.
SELECT g.key, g.max_concurrent, g.breaker_threshold IS NOT NULL AS has_breaker, g.breaker_state,
       g.paused OR coalesce(g.closed_until > callboard.now(), false) AS closed,
       (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key) AS running,
       (SELECT count(*) FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = g.key) AS waiting
FROM callboard.gates g
WHERE g.key !~ '^(tenant|target|actor|webhooks?):'
ORDER BY g.key
