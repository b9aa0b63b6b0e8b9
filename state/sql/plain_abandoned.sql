-- Finds messages that are consumed and whose lock nobody holds: the consumer is gone, or is about to settle or to
-- connect again.
WITH consumed AS MATERIALIZED (
    SELECT message_id, callboard.plain_lock(%(queue)s, message_id) AS key FROM dramatiq.queue
    WHERE state = 'consumed' AND queue_name = %(queue)s AND message_id <> ALL (string_to_array(%(held)s, ',')::uuid[])
)
SELECT message_id::text AS id FROM consumed WHERE CASE WHEN pg_try_advisory_lock(key) THEN pg_advisory_unlock(key) END
