DROP VIEW IF EXISTS admin.errors_by_agent;
-- The end of an attempt is a move, and moves are found by their time (events_moves, in each partition): older history is
-- not read.
CREATE VIEW admin.errors_by_agent AS
SELECT t.payload ->> 'agent_name' AS agent_name, t.payload ->> 'task_type' AS task_type, a.error ->> 'type' AS error_type,
       count(*) AS attempts, count(DISTINCT a.task_id) AS tasks, max(a.finished_at) AS last_at
FROM (
    SELECT DISTINCT e.task_id FROM callboard.events e
    WHERE e.kind = 'status' AND e.at > callboard.now() - interval '24 hours' AND e.data ->> 'from' = 'running'
) AS m
JOIN callboard.attempts a ON a.task_id = m.task_id
JOIN callboard.tasks t ON t.id = a.task_id
WHERE t.actor = 'agent' AND a.error IS NOT NULL AND a.finished_at > callboard.now() - interval '24 hours'
GROUP BY 1, 2, 3;

COMMENT ON VIEW admin.errors_by_agent IS 'Failures of the last 24 hours by agent, task type and type of error.';
