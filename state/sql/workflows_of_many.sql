-- Workflows with their steps, in one statement: what it returns was true at one moment. Results of more than 256 KB, and
-- all others after the first 16 MB, are left to their tasks: together they may be larger than one value can be. `brief`
-- leaves out inputs and results, `step` all other steps.
SELECT /*workflow_columns*/, (
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'key', s.key, 'kind', s.kind, 'status', s.status, 'after', s.after, 'agent_name', s.agent_name,
        'task_type', s.task_type, 'input', CASE WHEN NOT %(brief)s THEN s.input END,
        'for_each', CASE WHEN NOT %(brief)s THEN s.for_each END, 'priority', s.priority,
        'max_attempts', s.max_attempts, 'error', s.error, 'decision', s.decision, 'decided_by', s.decided_by,
        'note', s.note, 'decided_at', s.decided_at, 'expires_seconds', s.expires_seconds, 'expires_at', s.expires_at,
        'started_at', s.started_at, 'finished_at', s.finished_at,
        'result', CASE WHEN z.bytes <= 262144 AND z.so_far <= 16777216 THEN callboard.step_result(w.id, s.key) END,
        'result_bytes', z.bytes,
        'task_ids', ARRAY(SELECT t.id FROM callboard.tasks t
                          WHERE t.workflow_id = w.id AND t.step = s.key ORDER BY t.branch),
        'task_counts', (
            SELECT coalesce(jsonb_object_agg(c.status, c.tasks), '{}')
            FROM (SELECT t.status, count(*) AS tasks FROM callboard.tasks t
                  WHERE t.workflow_id = w.id AND t.step = s.key GROUP BY t.status) AS c)
    ) ORDER BY s.position), '[]')
    FROM callboard.workflow_steps s JOIN (
        SELECT c.key, c.bytes, sum(c.bytes) FILTER (WHERE c.bytes <= 262144) OVER (ORDER BY c.position) AS so_far
        FROM (SELECT x.key, x.position, CASE WHEN x.status = 'completed' AND NOT %(brief)s THEN callboard.result_size(w.id, x.key) END AS bytes
              FROM callboard.workflow_steps x
              WHERE x.workflow_id = w.id AND (%(step)s::text IS NULL OR x.key = %(step)s)) AS c
    ) AS z ON z.key = s.key
    WHERE s.workflow_id = w.id
) AS steps
FROM callboard.workflows w
WHERE w.id = ANY (%(ids)s) AND (/*in_scope*/ w.tenant)
