DROP VIEW IF EXISTS admin.generations;
CREATE VIEW admin.generations AS
SELECT g.id, g.task_id, t.tenant, g.provider, g.action_type, g.status, left(g.prompt, 200) AS prompt,
       (SELECT count(*) FROM callboard.contents c WHERE c.generation_id = g.id) AS contents,
       (SELECT sum(c.size) FROM callboard.contents c WHERE c.generation_id = g.id) AS bytes,
       g.error ->> 'type' AS error_type, g.error ->> 'message' AS error_message, g.created_at, g.updated_at
FROM callboard.generations g JOIN callboard.tasks t ON t.id = g.task_id;

COMMENT ON VIEW admin.generations IS 'Requests to media providers, and what they made.';
