-- The columns of a task in a list: as task_columns, but without large values. result_size tells a result that was left
-- out from none, and from a null.
t.id, t.actor, t.queue, t.lane, t.status, t.priority, callboard.unless_large(t.payload) AS payload,
callboard.unless_large(t.result) AS result, pg_column_size(t.result) AS result_size, t.error, t.progress, t.tokens, t.cost,
t.attempt, t.max_attempts, t.epoch, t.last_event, t.cancel_requested, t.worker_id, t.tenant, t.target, t.dedup_key,
t.workflow_id, t.gates, t.available_at, t.created_at, t.started_at, t.finished_at, t.updated_at,
/*error_history*/
