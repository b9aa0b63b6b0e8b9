-- Like schema_state, for a database that release 15 or an earlier one has migrated last.
SELECT f.name, f.digest FROM callboard.schema_files f
