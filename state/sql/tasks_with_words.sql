-- The newest tasks that fit the filters, and which of them have the words. Each task is looked up by its key, as in
-- tasks.sql.
SELECT n.id, t.created_at, callboard.has_words(t.task, %(words)s::jsonb) AS fits
FROM (
    SELECT w.id FROM callboard.newest_tasks(%(wanted)s::jsonb, %(before)s::text, %(limit)s::integer) AS w
    ORDER BY w.id DESC LIMIT %(limit)s
) AS n
CROSS JOIN LATERAL (SELECT k AS task, k.created_at FROM callboard.tasks k WHERE k.id = n.id LIMIT 1) AS t
ORDER BY n.id DESC
