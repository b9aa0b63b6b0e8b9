CREATE SCHEMA IF NOT EXISTS callboard;
CREATE SCHEMA IF NOT EXISTS admin;
CREATE TABLE IF NOT EXISTS callboard.applied_files (
    name       text PRIMARY KEY,
    digest     text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
-- Release 15 has kept the same in schema_files.
DO $$
BEGIN
    IF to_regclass('callboard.schema_files') IS NOT NULL AND NOT EXISTS (SELECT FROM callboard.applied_files) THEN
        INSERT INTO callboard.applied_files (name, digest, applied_at)
        SELECT name, digest, applied_at FROM callboard.schema_files;
    END IF;
END $$;
