-- The history of a task, a workflow or a project from its end.
SELECT n, kind, data, at FROM callboard.events
WHERE /*events_wanted*/
  AND (%(before)s::integer IS NULL OR n < %(before)s)
ORDER BY n DESC
LIMIT %(limit)s
