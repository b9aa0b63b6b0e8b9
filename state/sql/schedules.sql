-- Newest first; with an id, that one. `now` is for the caller, who computes the ticks.
SELECT /*schedule_columns*/, t.status AS last_task_status, t.created_at AS last_task_at, callboard.now() AS now
FROM callboard.schedules s LEFT JOIN callboard.tasks t ON t.id = s.last_task
WHERE s.deleted_at IS NULL
  AND (%(id)s::text IS NULL OR s.id = %(id)s)
  AND (/*in_scope*/ s.tenant)
  AND (%(tenant)s::text IS NULL OR s.tenant = %(tenant)s)
  AND (%(before)s::text IS NULL OR s.id < %(before)s)
ORDER BY s.id DESC
LIMIT %(limit)s
