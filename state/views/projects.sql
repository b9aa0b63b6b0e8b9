DROP VIEW IF EXISTS admin.projects;
CREATE VIEW admin.projects AS
SELECT p.id, p.name, p.tenant, r.id IS NOT NULL AS is_running, t.status = 'paused' AS paused, p.should_stop, p.mode,
       r.id AS current_run_id, p.started_at, p.stopped_at,
       (SELECT l.reason FROM callboard.runs l WHERE l.project_id = p.id ORDER BY l.id DESC LIMIT 1) AS last_reason,
       p.last_error, i.pending, i.in_progress, i.completed, i.failed
FROM callboard.projects p
LEFT JOIN callboard.runs r ON r.project_id = p.id AND r.ended_at IS NULL
LEFT JOIN callboard.tasks t ON t.id = r.id,
LATERAL (
    SELECT count(*) FILTER (WHERE x.status = 'pending') AS pending,
           count(*) FILTER (WHERE x.status = 'in_progress') AS in_progress,
           count(*) FILTER (WHERE x.status = 'completed') AS completed,
           count(*) FILTER (WHERE x.status = 'failed') AS failed
    FROM callboard.project_items x WHERE x.project_id = p.id
) AS i;

COMMENT ON VIEW admin.projects IS 'Projects with the state of their queues, and how many items they have in each status.';
