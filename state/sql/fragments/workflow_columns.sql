-- The columns of a workflow w that readers see.
w.id, w.name, w.tenant, w.status, w.reason, w.failure_threshold, w.escalation, w.last_event, w.created_at, w.updated_at,
w.finished_at
