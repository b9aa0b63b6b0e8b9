-- The WHERE of the lists of events: those of a task, a workflow or a project after a position; of one kind only, if one is
-- given.
task_id = %(id)s AND n > %(after)s AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(scope)s::text IS NULL
       OR EXISTS (SELECT FROM callboard.tasks t WHERE t.id = %(id)s AND t.tenant = %(scope)s)
       OR EXISTS (SELECT FROM callboard.workflows w WHERE w.id = %(id)s AND w.tenant = %(scope)s)
       OR EXISTS (SELECT FROM callboard.projects p WHERE p.id = %(id)s AND p.tenant = %(scope)s))
