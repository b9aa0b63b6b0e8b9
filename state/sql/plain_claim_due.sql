-- Like plain_claim, for a delay queue: claims only messages that are due now. `due` is in milliseconds.
WITH candidates AS MATERIALIZED (
    SELECT message_id FROM dramatiq.queue
    WHERE state = 'queued' AND queue_name = %(queue)s AND message_id <> ALL (string_to_array(%(held)s, ',')::uuid[])
      AND coalesce(message #> '{options,eta}', '0') <= to_jsonb(%(due)s::bigint)
    ORDER BY message #> '{options,eta}' LIMIT %(room)s
    FOR UPDATE SKIP LOCKED
), /*consume_candidates*/
