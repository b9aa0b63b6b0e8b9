-- In their order. The position is the cursor.
SELECT i.id, i.project_id, i.position, i.title, i.agent_name, i.task_type, i.input, i.priority, i.gates, i.status, i.run_id,
       i.runs, i.result, i.error, i.created_at, i.updated_at, i.started_at, i.finished_at
FROM callboard.project_items i
WHERE i.project_id = %(project_id)s
  AND EXISTS (SELECT FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant))
  AND (%(ids)s::text[] IS NULL OR i.id = ANY (%(ids)s))
  AND (%(status)s::text IS NULL OR i.status = %(status)s)
  AND i.position > %(after)s
ORDER BY i.position
LIMIT %(limit)s
