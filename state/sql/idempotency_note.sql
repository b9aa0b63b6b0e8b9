INSERT INTO callboard.idempotency (tenant, route, key, body_hash, answer, created_at)
VALUES (%(tenant)s, %(route)s, %(key)s, %(body_hash)s, %(answer)s, callboard.now())
ON CONFLICT (tenant, route, key) DO UPDATE
SET body_hash = excluded.body_hash, answer = excluded.answer, created_at = excluded.created_at
RETURNING key
