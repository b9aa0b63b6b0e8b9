DROP VIEW IF EXISTS admin.why_waiting;
CREATE VIEW admin.why_waiting AS
SELECT t.id, t.actor, t.queue, t.tenant, t.priority, w.why ->> 'gate' AS gate, w.why ->> 'reason' AS reason,
       (w.why ->> 'position')::integer AS position, (w.why ->> 'eta_seconds')::double precision AS eta_seconds,
       t.created_at, callboard.now() - t.updated_at AS waiting_for
FROM callboard.tasks t, LATERAL (SELECT callboard.why_waiting(t) AS why) AS w
WHERE t.status = 'waiting';

COMMENT ON VIEW admin.why_waiting IS 'Waiting tasks: at which gate, why, at which position, and for how long by estimate.';
