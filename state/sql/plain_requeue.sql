-- Queues those of the messages again that are consumed and whose lock no other session holds.
WITH consumed AS MATERIALIZED (
    SELECT message_id, callboard.plain_lock(%(queue)s, message_id) AS key FROM dramatiq.queue
    WHERE message_id = ANY (string_to_array(%(ids)s, ',')::uuid[]) AND queue_name = %(queue)s AND state = 'consumed'
    FOR UPDATE SKIP LOCKED
), free AS MATERIALIZED (
    SELECT message_id FROM consumed WHERE CASE WHEN pg_try_advisory_lock(key) THEN pg_advisory_unlock(key) END
)
UPDATE dramatiq.queue q SET state = 'queued'
FROM free WHERE q.message_id = free.message_id
RETURNING q.message_id::text AS id
