-- Reads an event that is to be delivered, with what does not change about its task: each attempt sends the same body. The
-- event happened, whether or not the task has been deleted since.
SELECT t.webhook_url, t.actor, t.queue, t.tenant, t.target, t.workflow_id, t.dedup_key, t.priority, t.created_at, e.data, e.at,
       CASE WHEN r.fits THEN t.result END AS result, r.fits IS FALSE AS result_omitted
FROM callboard.tasks t
JOIN callboard.events e ON e.task_id = t.id AND e.n = %(n)s AND e.kind = 'status',
LATERAL (
    SELECT CASE WHEN e.data ->> 'to' = 'completed' AND t.result IS NOT NULL
                THEN octet_length(t.result::text) <= %(most)s::integer END AS fits
) AS r
WHERE t.id = %(id)s AND t.webhook_url IS NOT NULL
