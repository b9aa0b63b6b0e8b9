-- Counts a tenant's dead letters by actor and type of error.
SELECT t.actor, coalesce(t.error ->> 'type', '') AS error_type, count(*) AS tasks
FROM callboard.tasks t WHERE t.status = 'dead' AND t.hidden_at IS NULL AND t.tenant = %(tenant)s
GROUP BY 1, 2
