-- Returns a new, time-ordered id (a UUID of version 7 after the prefix), as state/tasks/ids.py makes them.
CREATE OR REPLACE FUNCTION callboard.new_id(prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT prefix || encode(
        set_byte(
            overlay(uuid_send(gen_random_uuid())
                    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
            6, get_byte(r.bytes, 0) & 15 | 112),
        'hex')
    FROM (SELECT uuid_send(gen_random_uuid()) AS bytes) AS r
$$;
