-- Newest first. Ids are ordered by time, so the id is the cursor.
SELECT /*task_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
  AND (%(before)s::text IS NULL OR t.id < %(before)s)
  AND (%(status)s::text IS NULL OR t.status = %(status)s)
  -- The few tasks that run are found through their leases, not among the millions that have run.
  AND (%(status)s::text IS DISTINCT FROM 'running' OR t.id = ANY (ARRAY(SELECT task_id FROM callboard.leases)))
  AND (%(actor)s::text IS NULL OR t.actor = %(actor)s)
  AND (%(queue)s::text IS NULL OR t.queue = %(queue)s)
  AND (%(lane)s::text IS NULL OR t.lane = %(lane)s)
  AND (%(tenant)s::text IS NULL OR t.tenant = %(tenant)s)
  AND (%(target)s::text IS NULL OR t.target = %(target)s)
  AND (%(error_type)s::text IS NULL OR t.error ->> 'type' = %(error_type)s)
  AND (%(workflow_id)s::text IS NULL OR t.workflow_id = %(workflow_id)s)
  AND (%(agent_name)s::text IS NULL OR t.payload ->> 'agent_name' = %(agent_name)s)
  AND (%(task_type)s::text IS NULL OR t.payload ->> 'agent_name' IS NOT NULL AND t.payload ->> 'task_type' = %(task_type)s)
  AND (%(workflow_run_id)s::text IS NULL OR t.payload ->> 'workflow_run_id' = %(workflow_run_id)s)
ORDER BY t.id DESC
LIMIT %(limit)s
