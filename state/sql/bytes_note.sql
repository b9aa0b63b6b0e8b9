-- Before the bytes are stored, also if they are there: waits while they are being removed.
INSERT INTO callboard.stored_bytes AS b (sha256, stored_at) VALUES (%(sha256)s, callboard.now())
ON CONFLICT (sha256) DO UPDATE SET stored_at = excluded.stored_at
