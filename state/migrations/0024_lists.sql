-- autocommit
-- Lists jump from kind to kind of tasks: see state/tables/tasks.sql. The indexes that these replace covered all tasks.
CREATE OR REPLACE FUNCTION callboard.kind_of(
    status text, actor text, queue text, lane text, tenant text, agent_name text, task_type text, error_type text
) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT hash_record_extended(ROW(status, actor, queue, lane, tenant, agent_name, task_type, error_type), 0)';
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed ON callboard.tasks (
    (callboard.kind_of(status, actor, queue, lane, NULL, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_tenant ON callboard.tasks (
    tenant, (callboard.kind_of(status, actor, queue, lane, NULL, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE tenant IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_target ON callboard.tasks (
    target, (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE target IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_workflow ON callboard.tasks (
    workflow_id, (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE workflow_id IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_listed_run ON callboard.tasks (
    (payload ->> 'workflow_run_id'), (callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')), id)
    WHERE payload ->> 'workflow_run_id' IS NOT NULL AND status <> 'running' AND hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS projects_tenant ON callboard.projects (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS project_items_status ON callboard.project_items (project_id, status, position);
DROP INDEX CONCURRENTLY IF EXISTS callboard.tasks_tenant;
DROP INDEX CONCURRENTLY IF EXISTS callboard.tasks_agent;
DROP INDEX CONCURRENTLY IF EXISTS callboard.tasks_workflow_run;
