-- The contract between code and database: tables/schema.sql says what the columns mean. Release 15 goes on reading
-- schema_files, where its own `callboard migrate` has listed the digests of its files.
CREATE TABLE callboard.schema_version (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version    integer NOT NULL,
    supports   integer NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);
