-- Groups of dead letters, newest first, each row with what its newest dead letter says; see the function of this name.
SELECT g.id, g.fingerprint, g.actor, g.tasks, g.first_seen, g.last_seen, g.hours, g.oldest_seen, t.error_type,
       t.message, callboard.normalize_message(t.message) AS normalized
FROM callboard.error_groups(%(wanted)s::jsonb, %(before)s::text, %(limit)s::integer) AS g
CROSS JOIN LATERAL (
    SELECT k.error ->> 'type' AS error_type, left(k.error ->> 'message', 2000) AS message
    FROM callboard.tasks k WHERE k.id = g.id LIMIT 1
) AS t
ORDER BY g.id DESC, g.tasks DESC, g.actor
