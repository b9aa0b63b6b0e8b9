-- The next tasks in the order of their ids, with `reached` in each row: the id after which the caller asks again; NULL if there
-- are no more. Looks at so many at most, whatever is wanted of them, so a statement never takes long. There is one row
-- without a task if none fits.
WITH looked AS MATERIALIZED (
    SELECT k.id, k.tenant, k.hidden_at FROM callboard.tasks k
    WHERE k.id > %(after)s AND k.id < %(until)s ORDER BY k.id LIMIT %(window)s
), fitting AS MATERIALIZED (
    SELECT l.id FROM looked l
    WHERE l.hidden_at IS NULL AND (/*in_scope*/ l.tenant) AND (%(tenant)s::text IS NULL OR l.tenant = %(tenant)s)
    ORDER BY l.id LIMIT %(limit)s
), progress AS (
    SELECT CASE WHEN (SELECT count(*) FROM fitting) = %(limit)s THEN (SELECT max(f.id) FROM fitting f)
                WHEN count(*) = %(window)s THEN max(l.id) END AS reached
    FROM looked l
)
SELECT p.reached, /*listed_columns*/, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       CASE WHEN t.status = 'waiting' THEN (SELECT callboard.why_waiting(w) FROM callboard.tasks w WHERE w.id = t.id) END AS waiting
FROM progress p
LEFT JOIN fitting f ON true
LEFT JOIN LATERAL (SELECT /*listed_row*/ FROM callboard.tasks k WHERE k.id = f.id LIMIT 1) AS t ON true
LEFT JOIN LATERAL (SELECT k.renewed_at, k.expires_at FROM callboard.leases k WHERE k.task_id = t.id LIMIT 1) AS l ON true
ORDER BY t.id
