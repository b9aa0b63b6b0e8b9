-- autocommit
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_workflow_open ON callboard.tasks (workflow_id, step, status)
    WHERE workflow_id IS NOT NULL AND status NOT IN ('completed', 'canceled');
