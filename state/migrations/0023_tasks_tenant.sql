-- autocommit
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_tenant ON callboard.tasks (tenant, id) WHERE tenant IS NOT NULL;
