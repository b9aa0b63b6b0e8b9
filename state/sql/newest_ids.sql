-- The ids of the newest tasks that fit the filters.
SELECT w.id FROM callboard.newest_tasks(%(wanted)s::jsonb, %(before)s::text, %(limit)s::integer) AS w
ORDER BY w.id DESC LIMIT %(limit)s
