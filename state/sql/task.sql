SELECT /*task_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE t.id = %(id)s AND t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
