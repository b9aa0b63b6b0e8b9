-- Where the server has pgvector and this role may create it. Elsewhere agent events are searched by their words.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
        CREATE EXTENSION IF NOT EXISTS vector;
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'pgvector was not created: %', SQLERRM;
END $$
