-- Returns the generation of an earlier attempt if it was completed and the attempt died before it could settle, so
-- that nothing is requested twice. Otherwise begins one.
WITH owner AS (
    SELECT id, tenant FROM callboard.tasks
    WHERE id = %(task_id)s AND epoch = %(epoch)s AND worker_id = %(worker)s AND status = 'running'
    FOR NO KEY UPDATE
), finished AS (
    SELECT g.id, g.prompt,
           ARRAY(SELECT c.id FROM callboard.contents c WHERE c.generation_id = g.id ORDER BY c.position) AS content_ids
    FROM callboard.generations g, owner
    WHERE g.task_id = owner.id AND g.status = 'completed' AND g.request = %(request)s
), begun AS (
    INSERT INTO callboard.generations AS g
        (id, task_id, provider, action_type, status, request, prompt, created_at, updated_at)
    SELECT %(id)s, owner.id, %(provider)s, %(action_type)s, 'running', %(request)s,
           coalesce(%(prompt)s, (SELECT p.text FROM callboard.prompts p
                                 WHERE p.tenant = coalesce(owner.tenant, '') AND p.id = %(prompt_id)s)),
           callboard.now(), callboard.now()
    FROM owner
    WHERE NOT EXISTS (SELECT FROM finished)
    ON CONFLICT (task_id) DO UPDATE
    SET status = 'running', request = excluded.request, provider = excluded.provider,
        action_type = excluded.action_type, error = NULL, raw_response = NULL, updated_at = excluded.updated_at,
        prompt = CASE WHEN g.request = excluded.request THEN coalesce(g.prompt, excluded.prompt)
                      ELSE excluded.prompt END
    RETURNING g.id, g.prompt
)
SELECT id, prompt, content_ids FROM finished
UNION ALL
SELECT id, prompt, NULL FROM begun
