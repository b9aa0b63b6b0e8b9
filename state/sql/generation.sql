SELECT g.id, g.task_id, t.tenant, g.provider, g.action_type, g.prompt, g.request, g.raw_response,
       CASE WHEN g.status = 'completed' THEN 'completed'
            WHEN t.status = 'canceled' THEN 'canceled'
            WHEN t.status = 'dead' THEN 'failed'
            ELSE g.status END AS status,
       t.status AS task_status,
       coalesce(g.error, CASE WHEN t.status = 'dead' AND g.status <> 'completed' THEN t.error - 'traceback' END) AS error,
       g.created_at, g.updated_at,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'content_id', c.id, 'media_type', c.media_type, 'size', c.size, 'sha256', c.sha256)
               ORDER BY c.position), '[]')
        FROM callboard.contents c WHERE c.generation_id = g.id) AS contents
FROM callboard.generations g JOIN callboard.tasks t ON t.id = g.task_id
WHERE g.id = %(id)s AND (/*in_scope*/ t.tenant)
