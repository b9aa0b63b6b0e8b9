-- Newest first. Ids are ordered by time, so the id is the cursor.
SELECT /*workflow_columns*/, (
    SELECT coalesce(jsonb_object_agg(c.status, c.steps), '{}')
    FROM (SELECT s.status, count(*) AS steps FROM callboard.workflow_steps s WHERE s.workflow_id = w.id GROUP BY s.status) AS c
) AS step_counts,
    ARRAY(SELECT s.key FROM callboard.workflow_steps s
          WHERE s.workflow_id = w.id AND s.status IN ('running', 'waiting')
          ORDER BY s.position LIMIT 10) AS current_steps
FROM callboard.workflows w
WHERE (%(before)s::text IS NULL OR w.id < %(before)s)
  AND (%(status)s::text IS NULL OR w.status = %(status)s)
  AND (%(tenant)s::text IS NULL OR w.tenant = %(tenant)s)
  AND (/*in_scope*/ w.tenant)
ORDER BY w.id DESC
LIMIT %(limit)s
