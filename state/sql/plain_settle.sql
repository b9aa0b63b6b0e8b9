-- A message that was sent again meanwhile is no longer consumed and stays as it is. dramatiq-pg notifies of each end.
WITH settled AS (
    UPDATE dramatiq.queue q SET state = ended.state, message = coalesce(ended.body, q.message)
    FROM jsonb_to_recordset(%(ended)s::jsonb) AS ended (id uuid, state dramatiq.state, body jsonb)
    WHERE q.message_id = ended.id AND q.queue_name = %(queue)s AND q.state = 'consumed'
    RETURNING q.message_id, q.message
)
SELECT pg_notify(
    'dramatiq.' || %(queue)s || '.ack',
    CASE WHEN octet_length(message::text) < 8000 THEN message::text
         ELSE jsonb_build_object('message_id', message_id)::text END
)
FROM settled
