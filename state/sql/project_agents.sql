-- The agents that a run of a project may give work: those of its pending items, or of the one that it is started for.
SELECT DISTINCT i.agent_name, i.task_type
FROM callboard.project_items i JOIN callboard.projects p ON p.id = i.project_id
WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant) AND i.status = 'pending'
  AND (%(item_id)s::text IS NULL OR i.id = %(item_id)s)
