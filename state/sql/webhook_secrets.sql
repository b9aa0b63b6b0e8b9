-- Reads the secrets that sign now, the current one of each tenant first.
SELECT s.tenant, s.secret, s.created_at, s.expires_at FROM callboard.webhook_secrets s
WHERE (s.expires_at IS NULL OR s.expires_at > callboard.now())
  AND (%(tenant)s::text IS NULL OR s.tenant = %(tenant)s)
ORDER BY s.tenant, s.expires_at DESC NULLS FIRST, s.created_at DESC
