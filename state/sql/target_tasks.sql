-- In the order of arrival. A dead task that was deleted holds up nobody (target_turn).
SELECT /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE coalesce(t.tenant, '') = coalesce(%(tenant)s::text, '') AND t.target = %(target)s
  AND (/*in_scope*/ t.tenant)
  AND t.status NOT IN (/*terminal*/) AND t.hidden_at IS NULL
  AND (%(after)s::text IS NULL
       OR (t.created_at, t.id) > (SELECT a.created_at, a.id FROM callboard.tasks a
                                     WHERE a.id = %(after)s AND (/*in_scope*/ a.tenant)))
ORDER BY t.created_at, t.id
LIMIT %(limit)s
