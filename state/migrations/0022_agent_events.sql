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
CREATE INDEX agent_events_search ON callboard.agent_events USING gin (search);
-- Which events a vector can be compared with: of one model and one tenant, perhaps of one agent.
CREATE INDEX agent_events_model
    ON callboard.agent_events (embedding_model, (coalesce(tenant, '')), agent_name, task_type, id);
