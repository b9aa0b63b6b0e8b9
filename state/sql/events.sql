-- The history of a task, a workflow or a project.
SELECT n, kind, data, at FROM callboard.events
WHERE /*events_wanted*/
ORDER BY n
LIMIT %(limit)s
