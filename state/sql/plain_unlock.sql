SELECT pg_advisory_unlock(callboard.plain_lock(%(queue)s, id))
FROM unnest(string_to_array(%(ids)s, ',')::uuid[]) AS id
