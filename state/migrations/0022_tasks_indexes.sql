-- autocommit
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS tasks_workflow ON callboard.tasks (workflow_id, step, branch)
    WHERE workflow_id IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_agent ON callboard.tasks ((payload ->> 'agent_name'), (payload ->> 'task_type'), id)
    WHERE payload ->> 'agent_name' IS NOT NULL;
