INSERT INTO callboard.actor_pace AS p (actor, seconds, updated_at)
SELECT n.actor, n.seconds, callboard.now() FROM unnest(%(actors)s::text[], %(seconds)s::double precision[]) AS n (actor, seconds)
ORDER BY n.actor
ON CONFLICT (actor) DO UPDATE SET seconds = 0.7 * p.seconds + 0.3 * excluded.seconds, updated_at = excluded.updated_at
