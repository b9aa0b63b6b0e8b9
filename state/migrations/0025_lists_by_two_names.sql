-- autocommit
-- Lists by two names at once: see state/tables/tasks.sql.
CREATE OR REPLACE FUNCTION callboard.name_pair(first text, second text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT length(first) || '':'' || first || second';
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_workflow_run ON callboard.tasks (
    (callboard.name_pair(workflow_id, payload ->> 'workflow_run_id')), (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE workflow_id IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_workflow_target ON callboard.tasks (
    (callboard.name_pair(workflow_id, target)), (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE workflow_id IS NOT NULL AND target IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_target_run ON callboard.tasks (
    (callboard.name_pair(target, payload ->> 'workflow_run_id')), (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE target IS NOT NULL AND payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS workflows_tenant_status ON callboard.workflows (tenant, status, id) WHERE tenant IS NOT NULL;
