-- The columns of a task that readers see. Never t.*: a prepared statement fails for good when a column is added to its
-- result.
t.id, t.actor, t.queue, t.lane, t.status, t.priority, t.payload, t.result, t.error, t.progress, t.tokens, t.cost,
t.attempt, t.max_attempts, t.epoch, t.last_event, t.cancel_requested, t.worker_id, t.tenant, t.target, t.dedup_key,
t.workflow_id, t.gates, t.available_at, t.created_at, t.started_at, t.finished_at, t.updated_at,
/*error_history*/
