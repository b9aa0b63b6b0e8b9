-- Tasks of a list whose ids are known, newest first. Each is looked up by its key, as in tasks.sql.
SELECT /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN (SELECT callboard.why_waiting(w) FROM callboard.tasks w WHERE w.id = t.id) END AS waiting
FROM unnest(%(ids)s::text[]) AS n (id)
CROSS JOIN LATERAL (SELECT /*listed_row*/ FROM callboard.tasks k WHERE k.id = n.id LIMIT 1) AS t
LEFT JOIN LATERAL (SELECT k.renewed_at, k.expires_at FROM callboard.leases k WHERE k.task_id = t.id LIMIT 1) AS l ON true
WHERE /*in_scope*/ t.tenant
ORDER BY t.id DESC
