SELECT name, digest FROM callboard.schema_files
