-- The tasks that several callers ask for, each within its own scope: NULL for a caller that sees all tenants. Each is looked
-- up by its key (LIMIT 1: there is no other plan, also for one that was made when the tables were small). Large values are
-- left out: whoever wants them reads the task alone.
SELECT asked.scope, /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN (SELECT callboard.why_waiting(w) FROM callboard.tasks w WHERE w.id = t.id) END AS waiting
FROM unnest(%(ids)s::text[], %(scopes)s::text[]) AS asked (id, scope)
CROSS JOIN LATERAL (
    SELECT /*listed_row*/ FROM callboard.tasks k
    WHERE k.id = asked.id AND k.hidden_at IS NULL AND (asked.scope IS NULL OR asked.scope = k.tenant) LIMIT 1
) AS t
LEFT JOIN LATERAL (
    SELECT k.renewed_at, k.expires_at FROM callboard.leases k WHERE k.task_id = t.id AND t.status = 'running' LIMIT 1
) AS l ON true
