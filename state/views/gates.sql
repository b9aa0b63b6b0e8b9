DROP VIEW IF EXISTS admin.gates;
CREATE VIEW admin.gates AS
SELECT g.key, g.max_concurrent, g.declared_concurrent, g.max_concurrent IS DISTINCT FROM g.declared_concurrent AS overridden,
       (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key) AS running,
       (SELECT count(*) FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = g.key) AS waiting,
       g.rate_count, g.rate_seconds, g.paused, g.closed_until, g.breaker_state, g.breaker_changed_at
FROM callboard.gates g;

COMMENT ON VIEW admin.gates IS 'Gates with their settings, how many tasks run behind each, and how many wait at it.';
