-- Workflows with their steps, in one statement: what it returns was true at one moment. A large result is left to its
-- task: all of them together may be larger than one value can be.
SELECT /*workflow_columns*/, (
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'key', s.key, 'kind', s.kind, 'status', s.status, 'after', s.after, 'agent_name', s.agent_name,
        'task_type', s.task_type, 'input', s.input, 'for_each', s.for_each, 'priority', s.priority,
        'max_attempts', s.max_attempts, 'error', s.error, 'decision', s.decision, 'decided_by', s.decided_by,
        'note', s.note, 'decided_at', s.decided_at, 'expires_seconds', s.expires_seconds, 'expires_at', s.expires_at,
        'started_at', s.started_at, 'finished_at', s.finished_at,
        'result', CASE WHEN s.status = 'completed' AND z.bytes <= 262144 THEN callboard.step_result(w.id, s.key) END,
        'result_bytes', z.bytes,
        'task_ids', ARRAY(SELECT t.id FROM callboard.tasks t
                          WHERE t.workflow_id = w.id AND t.step = s.key ORDER BY t.branch)
    ) ORDER BY s.position), '[]')
    FROM callboard.workflow_steps s,
         LATERAL (SELECT CASE WHEN s.status = 'completed' THEN callboard.result_size(w.id, s.key) END AS bytes) AS z
    WHERE s.workflow_id = w.id
) AS steps
FROM callboard.workflows w
WHERE w.id = ANY (%(ids)s)
