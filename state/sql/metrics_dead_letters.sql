SELECT t.actor, coalesce(t.error ->> 'type', '') AS error_type, count(*) AS tasks
FROM callboard.tasks t WHERE t.status = 'dead' AND t.hidden_at IS NULL
GROUP BY 1, 2 ORDER BY 1, 2
