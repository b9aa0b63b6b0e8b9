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
CREATE TABLE callboard.workflow_steps (
    workflow_id     text COLLATE "C" NOT NULL REFERENCES callboard.workflows (id),
    key             text COLLATE "C" NOT NULL,
    position        integer NOT NULL,
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('task', 'approval')),
    status          text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (status IN (
                        'pending', 'running', 'waiting', 'completed', 'dead', 'rejected', 'expired', 'canceled')),
    after           text[] NOT NULL DEFAULT '{}',

    agent_name      text,
    task_type       text,
    input           jsonb,
    for_each        jsonb,
    sources         jsonb NOT NULL DEFAULT '{}',
    priority        callboard.priority,
    max_attempts    callboard.attempt_limit,
    queue           text COLLATE "C",
    gates           text[] NOT NULL DEFAULT '{}',
    gate_limits     integer[] NOT NULL DEFAULT '{}',
    branches        integer,

    expires_seconds double precision,
    expires_at      timestamptz,
    decision        text CHECK (decision IN ('approved', 'rejected')),
    decided_by      text,
    note            text,
    decided_at      timestamptz,

    error           jsonb,
    started_at      timestamptz,
    finished_at     timestamptz,
    PRIMARY KEY (workflow_id, key)
);
CREATE INDEX workflow_steps_expiring ON callboard.workflow_steps (expires_at) WHERE status = 'waiting';
CREATE INDEX workflows_status ON callboard.workflows (status, id);
CREATE INDEX workflows_tenant ON callboard.workflows (tenant, id) WHERE tenant IS NOT NULL;
