-- The newest dead letter of each actor and type of error among the newest ones: an example of each group that is of today.
SELECT DISTINCT ON (d.actor, d.error_type) d.actor, d.error_type, d.id AS task_id, d.message, d.finished_at
FROM (
    SELECT t.id, t.actor, t.finished_at, coalesce(t.error ->> 'type', '') AS error_type,
           left(t.error ->> 'message', 300) AS message
    FROM callboard.tasks t
    WHERE t.status = 'dead' AND t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
    ORDER BY t.id DESC LIMIT 200
) AS d
ORDER BY d.actor, d.error_type, d.id DESC
