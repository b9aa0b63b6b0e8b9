-- Newest first. A live run has no outcome; run_status is the status of its task.
SELECT r.id, r.project_id, r.mode, r.priority, r.requested_item, r.item_id, i.title, r.created_at, r.started_at, r.ended_at,
       extract(epoch FROM coalesce(r.ended_at, callboard.now()) - r.started_at)::double precision AS seconds,
       r.outcome, r.reason, t.status AS run_status
FROM callboard.runs r
LEFT JOIN callboard.project_items i ON i.id = r.item_id
LEFT JOIN callboard.tasks t ON t.id = r.id
WHERE r.project_id = %(project_id)s
  AND EXISTS (SELECT FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant))
  AND (%(before)s::text IS NULL OR r.id < %(before)s)
ORDER BY r.id DESC
LIMIT %(limit)s
