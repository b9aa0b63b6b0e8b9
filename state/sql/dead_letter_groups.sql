-- Counts dead letters by actor and type of error. A fingerprint is looked up in the index, not by the filter.
SELECT t.actor, t.error ->> 'type' AS error_type, count(*) AS tasks
FROM callboard.tasks t
WHERE t.status = 'dead' AND t.hidden_at IS NULL
  AND (%(fingerprint)s::text IS NULL OR callboard.error_fingerprint(t.error) = %(fingerprint)s)
  AND callboard.dead_letter_fits(t, %(wanted)s::jsonb - 'fingerprint')
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2
