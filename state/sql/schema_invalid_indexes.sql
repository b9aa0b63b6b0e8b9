-- Finds indexes that a failed CREATE INDEX CONCURRENTLY has left.
SELECT c.relname AS name
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relnamespace = 'callboard'::regnamespace
