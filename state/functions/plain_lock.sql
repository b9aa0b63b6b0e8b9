-- The key of the advisory lock that the consumer of a plain message holds, as dramatiq-pg computes it.
CREATE OR REPLACE FUNCTION callboard.plain_lock(queue_name text, message_id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('x' || substr(encode(sha256(convert_to(queue_name || message_id::text, 'UTF8')), 'hex'), 25, 16))::bit(64)::bigint
           # x'8000000000000000'::bit(64)::bigint
$$;
