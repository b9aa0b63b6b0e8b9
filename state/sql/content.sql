SELECT c.id, c.generation_id, c.position, c.sha256, c.size, c.media_type, c.created_at, g.task_id, t.tenant
FROM callboard.contents c
JOIN callboard.generations g ON g.id = c.generation_id
JOIN callboard.tasks t ON t.id = g.task_id
WHERE c.id = %(id)s AND (/*in_scope*/ t.tenant)
