SELECT n, kind, data, at FROM callboard.events
WHERE task_id = %(id)s AND n > %(after)s
ORDER BY n
LIMIT %(limit)s
