-- The sandboxes of a run, and of the project's ended runs, that have not ended: with the processes that could not be killed,
-- or the supervisor. A run that was started meanwhile is none of them.
SELECT s.id, s.task_id, s.host, CASE WHEN cardinality(s.survivors) > 0 THEN s.survivors ELSE ARRAY[s.pid] END AS pids
FROM callboard.sandboxes s JOIN callboard.runs r ON r.id = s.task_id
WHERE r.project_id = %(project_id)s
  AND EXISTS (SELECT FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant))
  AND s.ended_at IS NULL AND (r.ended_at IS NOT NULL OR r.id = %(run_id)s::text)
ORDER BY s.id
