INSERT INTO callboard.prompts (tenant, id, text, created_at, updated_at)
VALUES (coalesce(%(tenant)s, ''), %(id)s, %(text)s, callboard.now(), callboard.now())
ON CONFLICT (tenant, id) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at
RETURNING id, nullif(tenant, '') AS tenant, text, created_at, updated_at
