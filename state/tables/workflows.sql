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
CREATE INDEX workflows_tenant_status ON callboard.workflows (tenant, status, id) WHERE tenant IS NOT NULL;
-- What still lives or needs a person: few rows, however many tasks the workflows have had.
CREATE INDEX tasks_workflow_open ON callboard.tasks (workflow_id, step, status)
    WHERE workflow_id IS NOT NULL AND status NOT IN (/*terminal*/);

COMMENT ON TABLE callboard.workflows IS 'Steps with dependencies. A workflow''s row is locked before its tasks.';
COMMENT ON COLUMN callboard.workflows.failure_threshold IS 'So many steps that failed end the workflow; fewer are tolerated.';
COMMENT ON COLUMN callboard.workflows.escalation IS '{to, note}: the workflow is escalated, not failed, when it reaches the threshold.';
COMMENT ON COLUMN callboard.workflows.last_event IS 'n of the newest row in events, whose task_id is then the id of the workflow.';
COMMENT ON TABLE callboard.workflow_steps IS 'The steps of workflows. Changed only under the lock of the workflow''s row, by advance_workflow and the verbs.';
COMMENT ON COLUMN callboard.workflow_steps.after IS 'Keys of the steps that must be completed before this one starts.';
COMMENT ON COLUMN callboard.workflow_steps.input IS 'As it was declared: results of other steps are put in when the step starts.';
COMMENT ON COLUMN callboard.workflow_steps.for_each IS 'A list, or the result that is one: the step starts a task for each element.';
COMMENT ON COLUMN callboard.workflow_steps.sources IS 'Where input and for_each take results from: {input: [{at, step, path}], items: [{at, path}], for_each: {step, path}}.';
COMMENT ON COLUMN callboard.workflow_steps.gates IS 'Of its tasks, as far as they are known without the results; a worker asks the agent again.';
COMMENT ON COLUMN callboard.workflow_steps.branches IS 'The number of its tasks, once it has started.';
COMMENT ON COLUMN callboard.workflow_steps.expires_at IS 'When an approval that waits is given up.';

ALTER TABLE callboard.tasks ADD CONSTRAINT tasks_workflow_id_fkey
    FOREIGN KEY (workflow_id) REFERENCES callboard.workflows (id);
