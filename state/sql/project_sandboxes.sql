-- The sandboxes of a project's runs that have not ended: with the processes that could not be killed, or the supervisor.
SELECT s.id, s.task_id, s.host, CASE WHEN cardinality(s.survivors) > 0 THEN s.survivors ELSE ARRAY[s.pid] END AS pids
FROM callboard.sandboxes s JOIN callboard.runs r ON r.id = s.task_id
WHERE r.project_id = %(project_id)s AND s.ended_at IS NULL
ORDER BY s.id
