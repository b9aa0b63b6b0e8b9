DROP VIEW IF EXISTS admin.api_keys;
CREATE VIEW admin.api_keys AS
SELECT k.id, k.name, k.role, k.tenant, k.rate_limit, k.created_at, k.created_by, k.last_used_at, k.revoked_at, k.revoked_by
FROM callboard.api_keys k;

COMMENT ON VIEW admin.api_keys IS 'API keys without their hashes, and when each was last used.';
