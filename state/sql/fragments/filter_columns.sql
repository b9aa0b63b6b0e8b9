-- The columns of a task that lists are filtered by.
id, status, actor, queue, lane, tenant, target, workflow_id, payload, error, finished_at
