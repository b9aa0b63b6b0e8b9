-- Newest first. Ids are ordered by time, so the id is the cursor. Each task is looked up by its key (LIMIT 1: there is no
-- other plan, also for one that was made when the tables were empty).
SELECT /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN (SELECT callboard.why_waiting(w) FROM callboard.tasks w WHERE w.id = t.id) END AS waiting
FROM callboard.newest_tasks(%(wanted)s::jsonb, %(before)s::text, %(limit)s::integer) AS n
CROSS JOIN LATERAL (SELECT /*listed_row*/ FROM callboard.tasks k WHERE k.id = n.id LIMIT 1) AS t
LEFT JOIN LATERAL (SELECT k.renewed_at, k.expires_at FROM callboard.leases k WHERE k.task_id = t.id LIMIT 1) AS l ON true
ORDER BY t.id DESC
LIMIT %(limit)s
