-- The columns of a schedule s that readers see.
s.id, s.name, s.tenant, s.cron, s.timezone, s.catch_up, s.overlap, s.jitter_seconds, s.actor, s.payload, s.options, s.queue,
s.priority, s.max_attempts, s.target, s.paused, s.next_at, s.last_tick, s.last_error, s.last_run, s.last_task, s.revision,
s.declared, s.created_by, s.created_at, s.updated_at
