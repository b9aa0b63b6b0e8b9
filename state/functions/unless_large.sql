-- Returns a value for a list, or NULL if its text has more than about 32 KiB: whoever wants that reads the task. Large
-- values are not read from where Postgres keeps them: their stored size is known. The stored size of a compressed one
-- says little, so those of a few kilobytes are looked at.
CREATE OR REPLACE FUNCTION callboard.unless_large(value jsonb) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN pg_column_size(value) > 32768 THEN NULL
        WHEN pg_column_compression(value) IS NULL THEN value
        WHEN pg_column_size(value) > 8192 THEN NULL
        WHEN octet_length(value::text) > 32768 THEN NULL
        ELSE value
    END
$$;
