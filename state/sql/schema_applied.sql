INSERT INTO callboard.applied_files (name, digest) VALUES (%(name)s, %(digest)s)
ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, applied_at = now()
