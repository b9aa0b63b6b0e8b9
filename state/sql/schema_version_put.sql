INSERT INTO callboard.schema_version (version, supports) VALUES (%(version)s, %(supports)s)
ON CONFLICT (only_row) DO UPDATE SET version = excluded.version, supports = excluded.supports, changed_at = now()
WHERE (schema_version.version, schema_version.supports) <> (excluded.version, excluded.supports)
