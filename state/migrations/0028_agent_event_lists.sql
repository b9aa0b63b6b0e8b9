-- autocommit
-- Lists of agent events: see state/tables/agents.sql.
CREATE INDEX CONCURRENTLY IF NOT EXISTS agent_events_listed
    ON callboard.agent_events (agent_name, task_type, id) WHERE hidden_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS agent_events_listed_tenant
    ON callboard.agent_events (tenant, agent_name, task_type, id) WHERE tenant IS NOT NULL AND hidden_at IS NULL;
