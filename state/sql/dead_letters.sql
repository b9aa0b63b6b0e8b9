-- Newest first. Ids are ordered by time, so the id is the cursor. Each task is looked up by its key, as in tasks.sql.
SELECT /*listed_columns*/
FROM callboard.newest_tasks(%(wanted)s::jsonb, %(before)s::text, %(limit)s::integer) AS n
CROSS JOIN LATERAL (SELECT /*listed_row*/ FROM callboard.tasks k WHERE k.id = n.id LIMIT 1) AS t
ORDER BY t.id DESC
LIMIT %(limit)s
