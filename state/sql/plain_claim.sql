-- Takes the advisory lock of a message under the lock of its row. The session keeps it until the message is settled.
WITH candidates AS MATERIALIZED (
    SELECT message_id FROM dramatiq.queue
    WHERE state = 'queued' AND queue_name = %(queue)s AND message_id <> ALL (string_to_array(%(held)s, ',')::uuid[])
    ORDER BY mtime LIMIT %(room)s
    FOR UPDATE SKIP LOCKED
), /*consume_candidates*/
