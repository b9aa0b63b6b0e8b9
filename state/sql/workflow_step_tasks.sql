-- The tasks of a step in the order of its list, without large values. The id of the last one is the cursor.
SELECT /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE t.workflow_id = %(id)s AND t.step = %(step)s AND t.hidden_at IS NULL
  AND (%(status)s::text IS NULL OR t.status = %(status)s)
  AND t.branch > coalesce((SELECT p.branch FROM callboard.tasks p
                           WHERE p.id = %(after)s AND p.workflow_id = %(id)s AND p.step = %(step)s), -1)
  AND (/*in_scope*/ t.tenant)
ORDER BY t.branch
LIMIT %(limit)s
