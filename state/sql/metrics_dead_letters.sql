-- Counts dead letters by actor and type of error, as they were counted when they died: a monitor must not read them all. If
-- some were counted without an actor (by an earlier release), the dead letters themselves are counted.
WITH known AS MATERIALIZED (
    SELECT coalesce(c.actor, '') AS actor, coalesce(c.error_type, '') AS error_type, sum(c.tasks)::bigint AS tasks
    FROM callboard.finished_counts c WHERE c.status = 'dead' GROUP BY 1, 2 HAVING sum(c.tasks) <> 0
)
SELECT k.actor, k.error_type, k.tasks FROM known k WHERE NOT EXISTS (SELECT FROM known WHERE actor = '')
UNION ALL
SELECT t.actor, coalesce(t.error ->> 'type', ''), count(*) FROM callboard.tasks t
WHERE t.status = 'dead' AND t.hidden_at IS NULL AND EXISTS (SELECT FROM known WHERE actor = '')
GROUP BY 1, 2
ORDER BY 1, 2
