WITH owner AS (
    SELECT id FROM callboard.tasks WHERE id = %(task_id)s AND epoch = %(epoch)s AND status = 'running' FOR NO KEY UPDATE
)
INSERT INTO callboard.generations (id, task_id, provider, action_type, status, request, created_at, updated_at)
SELECT %(id)s, owner.id, %(provider)s, %(action_type)s, 'running', %(request)s, callboard.now(), callboard.now()
FROM owner
ON CONFLICT (task_id) DO UPDATE
SET status = 'running', request = excluded.request, provider = excluded.provider, action_type = excluded.action_type,
    error = NULL, updated_at = excluded.updated_at
RETURNING id
