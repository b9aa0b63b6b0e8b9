SELECT k.id, k.name, k.role, k.tenant, k.rate_limit, encode(k.secret_hash, 'hex') AS secret_hash
FROM callboard.api_keys k
WHERE k.revoked_at IS NULL
