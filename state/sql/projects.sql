-- Newest first, with the state of their queues. That a queue runs, and which run is the current one, follows from the live
-- row in runs.
SELECT p.id, p.name, p.tenant, p.mode, p.should_stop, p.started_at, p.stopped_at, p.last_error, p.last_event, p.created_at,
       p.updated_at, r.id AS current_run_id, r.item_id AS current_item_id, t.status AS run_status,
       CASE WHEN r.id IS NOT NULL THEN extract(epoch FROM callboard.now() - p.started_at)::double precision END AS elapsed_seconds,
       i.pending, i.in_progress, i.completed, i.failed
FROM callboard.projects p
LEFT JOIN callboard.runs r ON r.project_id = p.id AND r.ended_at IS NULL
LEFT JOIN callboard.tasks t ON t.id = r.id,
LATERAL (
    SELECT count(*) FILTER (WHERE x.status = 'pending') AS pending,
           count(*) FILTER (WHERE x.status = 'in_progress') AS in_progress,
           count(*) FILTER (WHERE x.status = 'completed') AS completed,
           count(*) FILTER (WHERE x.status = 'failed') AS failed
    FROM callboard.project_items x WHERE x.project_id = p.id
) AS i
WHERE (%(ids)s::text[] IS NULL OR p.id = ANY (%(ids)s))
  AND (%(before)s::text IS NULL OR p.id < %(before)s)
  AND (%(tenant)s::text IS NULL OR p.tenant = %(tenant)s)
  AND (/*in_scope*/ p.tenant)
ORDER BY p.id DESC
LIMIT %(limit)s
