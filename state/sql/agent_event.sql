SELECT /*event_columns*/, e.input, e.result, e.job_id, e.embedding_model, e.embedded_at
FROM callboard.agent_events e
WHERE e.id = %(id)s AND e.hidden_at IS NULL AND (/*in_scope*/ e.tenant)
