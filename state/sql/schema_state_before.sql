-- Like schema_state, for a database that was last migrated by a release before 16: it can only be refused.
SELECT f.name, f.digest FROM callboard.schema_files f
