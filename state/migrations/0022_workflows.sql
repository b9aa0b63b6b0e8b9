CREATE TABLE callboard.workflows (
    id                text COLLATE "C" PRIMARY KEY,
    name              text NOT NULL,
    tenant            text COLLATE "C",
    status            text NOT NULL DEFAULT 'running'
                      CHECK (status IN ('running', 'completed', 'failed', 'escalated', 'canceled')),
    failure_threshold integer NOT NULL DEFAULT 1 CHECK (failure_threshold > 0),
    escalation        jsonb,
    reason            text,
    last_event        integer NOT NULL DEFAULT 1,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    finished_at       timestamptz
);
