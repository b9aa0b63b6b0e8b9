-- An insert whose answer was lost is repeated with the same id.
INSERT INTO callboard.api_keys AS k (id, name, role, tenant, secret_hash, rate_limit, created_at, created_by)
VALUES (%(id)s, %(name)s, %(role)s, %(tenant)s, decode(%(secret_hash)s, 'hex'), %(rate_limit)s, callboard.now(), %(by)s)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING /*key_columns*/
