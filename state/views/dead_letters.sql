DROP VIEW IF EXISTS admin.dead_letters;
CREATE VIEW admin.dead_letters AS
SELECT t.id                          AS task_id,
       t.finished_at                 AS died_at,
       t.actor,
       t.payload ->> 'agent_name'    AS agent_name,
       t.payload ->> 'task_type'     AS task_type,
       t.error ->> 'type'            AS error_type,
       t.error ->> 'category'        AS category,
       t.error ->> 'message'         AS error_message,
       t.attempt                     AS attempts,
       t.max_attempts,
       t.payload,
       t.checkpoint,
       t.queue,
       t.tenant,
       t.target,
       t.tokens,
       t.cost,
       t.created_at,
       t.started_at                  AS last_started_at
FROM callboard.tasks t
WHERE t.status = 'dead' AND t.hidden_at IS NULL
ORDER BY t.finished_at DESC;

COMMENT ON VIEW admin.dead_letters IS 'Tasks that need a person: all that have died, newest first, and why.';
