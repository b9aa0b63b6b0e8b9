-- The tasks that several callers ask for, each within its own scope: NULL for a caller that sees all tenants.
SELECT asked.scope, /*task_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM unnest(%(ids)s::text[], %(scopes)s::text[]) AS asked (id, scope)
JOIN callboard.tasks t ON t.id = asked.id AND (asked.scope IS NULL OR asked.scope = t.tenant)
LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE t.hidden_at IS NULL
