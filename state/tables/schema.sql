-- Written by `callboard migrate` when everything is applied.
CREATE TABLE callboard.schema_version (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version    integer NOT NULL,
    supports   integer NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE callboard.schema_version IS 'The contract between code and database. Always one row when the schema is complete.';
COMMENT ON COLUMN callboard.schema_version.version IS 'The number of the highest migration.';
COMMENT ON COLUMN callboard.schema_version.supports IS 'The oldest release that works on this schema, by the version of its own schema.';

-- Created before all others, by state/sql/schema_bookkeeping.sql: it says what is still to be applied.
COMMENT ON TABLE callboard.applied_files IS 'Files of the schema that are applied, each with the digest of its text.';
