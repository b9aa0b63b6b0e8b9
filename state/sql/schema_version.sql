SELECT version, supports FROM callboard.schema_version
