DROP VIEW IF EXISTS admin.workflows;
CREATE VIEW admin.workflows AS
SELECT w.id, w.name, w.tenant, w.status, w.reason, w.escalation ->> 'to' AS escalated_to, s.steps, s.completed, s.running,
       s.waiting, s.failed, w.failure_threshold, s.waits_for, w.created_at, w.updated_at, w.finished_at
FROM callboard.workflows w, LATERAL (
    SELECT count(*) AS steps,
           count(*) FILTER (WHERE s.status = 'completed') AS completed,
           count(*) FILTER (WHERE s.status = 'running') AS running,
           count(*) FILTER (WHERE s.status = 'waiting') AS waiting,
           count(*) FILTER (WHERE s.status IN ('dead', 'rejected', 'expired')) AS failed,
           array_agg(s.key ORDER BY s.position) FILTER (WHERE s.status IN ('waiting', 'dead', 'rejected', 'expired')) AS waits_for
    FROM callboard.workflow_steps s WHERE s.workflow_id = w.id
) AS s;

COMMENT ON VIEW admin.workflows IS 'Workflows, how far they are, and the steps that wait for a person.';
