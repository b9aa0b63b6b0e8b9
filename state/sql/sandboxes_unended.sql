SELECT s.id, s.task_id, s.kind, s.host,
       CASE WHEN cardinality(s.survivors) > 0 THEN s.survivors ELSE ARRAY[s.pid] END AS pids
FROM callboard.sandboxes s WHERE s.task_id = %(task_id)s AND s.ended_at IS NULL
ORDER BY s.id
