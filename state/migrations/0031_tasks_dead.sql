-- autocommit
-- Dead letters by what went wrong: see state/tables/tasks.sql.
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_dead ON callboard.tasks (
    callboard.error_fingerprint(error), (callboard.kind_of(status, actor, queue, lane, NULL, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE status = 'dead' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_dead_tenant ON callboard.tasks (
    tenant, callboard.error_fingerprint(error), (callboard.kind_of(status, actor, queue, lane, NULL, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE tenant IS NOT NULL AND status = 'dead' AND hidden_at IS NULL;
