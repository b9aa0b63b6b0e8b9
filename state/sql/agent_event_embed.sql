-- Stores the vector of an event, for the execution that owns the embedding job. A repetition changes nothing. A task of a
-- tenant changes no event of another one.
UPDATE callboard.agent_events e
SET embedding = %(vector)s::real[], embedding_model = %(model)s, embedded_at = callboard.now()
FROM callboard.tasks t
WHERE e.id = %(id)s AND (t.tenant IS NULL OR t.tenant = e.tenant)
  AND t.id = %(task_id)s AND t.epoch = %(epoch)s AND t.worker_id = %(worker)s AND t.status = 'running'
RETURNING e.id
