-- As release 15 and before kept it.
SELECT f.name, f.digest FROM callboard.schema_files f
