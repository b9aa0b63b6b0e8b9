SELECT to_regclass('callboard.applied_files') IS NOT NULL AS applied_files,
       to_regclass('callboard.schema_files') IS NOT NULL AS schema_files,
       to_regclass('callboard.schema_version') IS NOT NULL AS schema_version
