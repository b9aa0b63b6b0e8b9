SELECT id, nullif(tenant, '') AS tenant, text, created_at, updated_at
FROM callboard.prompts
WHERE tenant = coalesce(%(tenant)s, '') AND id = %(id)s AND (/*in_scope*/ tenant)
