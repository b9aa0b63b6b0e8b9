-- Counts dead letters by actor and type of error.
SELECT t.actor, t.error ->> 'type' AS error_type, count(*) AS tasks
FROM callboard.tasks t
WHERE t.status = 'dead' AND callboard.dead_letter_fits(t, %(wanted)s)
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2
