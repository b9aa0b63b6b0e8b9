-- After `WITH candidates AS (…)`, which has locked the rows of plain messages: consumes those whose advisory lock is free,
-- and keeps it.
locked AS MATERIALIZED (
    SELECT message_id FROM candidates WHERE pg_try_advisory_lock(callboard.plain_lock(%(queue)s, message_id))
)
UPDATE dramatiq.queue q SET state = 'consumed', mtime = now()
FROM locked WHERE q.message_id = locked.message_id
RETURNING q.message_id::text AS id, q.message::text AS body
