-- An insert whose answer was lost is repeated with the same id. The key that asks must be valid now: a server may know a
-- revoked one for seconds, and its owner must not get another one meanwhile.
INSERT INTO callboard.api_keys AS k (id, name, role, tenant, secret_hash, rate_limit, created_at, created_by)
SELECT %(id)s, %(name)s, %(role)s, %(tenant)s, decode(%(secret_hash)s, 'hex'), %(rate_limit)s::integer, callboard.now(), %(by)s
WHERE %(by_key)s::text IS NULL
   OR EXISTS (SELECT FROM callboard.api_keys c WHERE c.id = %(by_key)s AND c.revoked_at IS NULL FOR SHARE)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING /*key_columns*/
