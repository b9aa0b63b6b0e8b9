-- The columns of a task k that listed_columns reads.
k.id, k.actor, k.queue, k.lane, k.status, k.priority, k.payload, k.result, k.error, k.progress, k.tokens, k.cost,
k.attempt, k.max_attempts, k.epoch, k.last_event, k.cancel_requested, k.worker_id, k.tenant, k.target, k.dedup_key,
k.workflow_id, k.gates, k.available_at, k.created_at, k.started_at, k.finished_at, k.updated_at
