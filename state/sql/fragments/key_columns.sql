-- The columns of a key k that readers see: not its hash.
k.id, k.name, k.role, k.tenant, k.rate_limit, k.created_at, k.created_by, k.last_used_at, k.revoked_at, k.revoked_by
