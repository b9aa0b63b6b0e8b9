CREATE TABLE callboard.agent_events (
    id              text COLLATE "C" PRIMARY KEY,
    task_id         text COLLATE "C" NOT NULL UNIQUE,
    workflow_id     text COLLATE "C",
    tenant          text COLLATE "C",
    agent_name      text COLLATE "C" NOT NULL,
    task_type       text COLLATE "C" NOT NULL,
    text            text NOT NULL,
    search          tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, "left"(text, 8000))) STORED,
    input           jsonb NOT NULL,
    result          jsonb,
    job_id          text COLLATE "C" NOT NULL,
    embedding       real[],
    embedding_model text COLLATE "C",
    embedded_at     timestamptz,
    created_at      timestamptz NOT NULL,
    hidden_at       timestamptz
);

COMMENT ON TABLE callboard.agent_events IS 'What agents have done: one row for each completed task of an agent. Rows are kept for ever.';
COMMENT ON COLUMN callboard.agent_events.task_id IS 'The completed task, of the actor agent or project_run.';
COMMENT ON COLUMN callboard.agent_events.text IS 'Readable: agent, task type, input and result. This is what is embedded and searched.';
COMMENT ON COLUMN callboard.agent_events.search IS 'The words of the first 8000 characters: more would make the end of a task slow.';
COMMENT ON COLUMN callboard.agent_events.job_id IS 'The task that embeds the text: inserted together with this row.';
COMMENT ON COLUMN callboard.agent_events.embedding IS 'A plain array, so that the table is the same where there is no pgvector. Where there is, callboard migrate adds an index (HNSW).';
COMMENT ON COLUMN callboard.agent_events.embedding_model IS 'Only vectors of one model can be compared.';
COMMENT ON COLUMN callboard.agent_events.hidden_at IS 'When the task was deleted by a user: searches do not find the event any more.';

CREATE INDEX agent_events_search ON callboard.agent_events USING gin (search);
-- Which events a vector can be compared with: of one model and one tenant, perhaps of one agent.
CREATE INDEX agent_events_model
    ON callboard.agent_events (embedding_model, (coalesce(tenant, '')), agent_name, task_type, id);

-- Lists jump from kind to kind of events: those of one agent and one task type.
CREATE INDEX agent_events_listed ON callboard.agent_events (agent_name, task_type, id) WHERE hidden_at IS NULL;
CREATE INDEX agent_events_listed_tenant ON callboard.agent_events (tenant, agent_name, task_type, id)
    WHERE tenant IS NOT NULL AND hidden_at IS NULL;
