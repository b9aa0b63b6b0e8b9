CREATE TABLE callboard.projects (
    id          text COLLATE "C" PRIMARY KEY,
    name        text NOT NULL,
    tenant      text COLLATE "C",
    mode        text CHECK (mode IN ('single', 'loop')),
    should_stop boolean NOT NULL DEFAULT false,
    started_at  timestamptz,
    stopped_at  timestamptz,
    last_error  text,
    last_event  integer NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    -- The queue has a mode, and can be asked to stop, only while it runs.
    CONSTRAINT projects_mode_while_running
        CHECK ((mode IS NOT NULL) = (started_at IS NOT NULL AND stopped_at IS NULL)),
    CONSTRAINT projects_stop_while_running CHECK (mode IS NOT NULL OR NOT should_stop)
);

COMMENT ON TABLE callboard.projects IS 'Items to work off, and the state of the queue that does it. A project''s row is locked before the task of its run.';
COMMENT ON COLUMN callboard.projects.mode IS 'Of the queue while it runs; NULL while it does not.';
COMMENT ON COLUMN callboard.projects.should_stop IS 'No further item is to start.';
COMMENT ON COLUMN callboard.projects.started_at IS 'When the queue was started last; a loop starts once.';
COMMENT ON COLUMN callboard.projects.last_error IS 'Why the last run died; NULL after the next start.';
COMMENT ON COLUMN callboard.projects.last_event IS 'n of the newest event of the project, in callboard.events.';

CREATE TABLE callboard.runs (
    id             text COLLATE "C" PRIMARY KEY,
    project_id     text COLLATE "C" NOT NULL REFERENCES callboard.projects (id),
    mode           text NOT NULL CHECK (mode IN ('single', 'loop')),
    priority       smallint CHECK (priority BETWEEN 0 AND 3),
    requested_item text COLLATE "C",
    item_id        text COLLATE "C",
    created_at     timestamptz NOT NULL,
    started_at     timestamptz,
    ended_at       timestamptz,
    outcome        text CHECK (outcome IN (/*finished*/)),
    reason         text,
    CONSTRAINT runs_outcome_at_end CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT runs_item_after_start CHECK (item_id IS NULL OR started_at IS NOT NULL)
);
CREATE INDEX projects_tenant ON callboard.projects (tenant, id) WHERE tenant IS NOT NULL;
-- Two live runs of one project are impossible.
CREATE UNIQUE INDEX runs_live ON callboard.runs (project_id) WHERE ended_at IS NULL;
CREATE INDEX runs_of_project ON callboard.runs (project_id, id);

COMMENT ON TABLE callboard.runs IS 'Runs of projects. A run is one task of the actor project_run, with the same id.';
COMMENT ON COLUMN callboard.runs.priority IS 'As it was asked for; NULL: that of the item which is next. The runs that follow in a loop inherit it.';
COMMENT ON COLUMN callboard.runs.requested_item IS 'The item that the run was started for; NULL: the next one.';
COMMENT ON COLUMN callboard.runs.item_id IS 'The item that the run has taken, when it first started.';
COMMENT ON COLUMN callboard.runs.ended_at IS 'NULL while the run is live: its task is not finished.';
COMMENT ON COLUMN callboard.runs.reason IS 'Why the queue stopped with this run; NULL if another run followed. Of a live run: the reason if it is canceled.';

CREATE TABLE callboard.project_items (
    id          text COLLATE "C" PRIMARY KEY,
    project_id  text COLLATE "C" NOT NULL REFERENCES callboard.projects (id),
    position    integer NOT NULL,
    title       text NOT NULL,
    agent_name  text NOT NULL,
    task_type   text NOT NULL,
    input       jsonb NOT NULL,
    priority    smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    gates       text[] NOT NULL DEFAULT '{}',
    gate_limits integer[] NOT NULL DEFAULT '{}',
    status      text COLLATE "C" NOT NULL DEFAULT 'pending'
                CHECK (status IN ('pending', 'in_progress', 'completed', 'failed')),
    run_id      text COLLATE "C" REFERENCES callboard.runs (id),
    runs        integer NOT NULL DEFAULT 0,
    result      jsonb,
    error       jsonb,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    started_at  timestamptz,
    finished_at timestamptz,
    CONSTRAINT project_items_position UNIQUE (project_id, position),
    CONSTRAINT project_items_run CHECK (status = 'pending' OR run_id IS NOT NULL),
    CONSTRAINT project_items_end CHECK ((status IN ('completed', 'failed')) = (finished_at IS NOT NULL))
);
CREATE UNIQUE INDEX project_items_current ON callboard.project_items (project_id) WHERE status = 'in_progress';
-- For lists, and for the counts that a project shows.
CREATE INDEX project_items_status ON callboard.project_items (project_id, status, position);
CREATE INDEX project_items_next ON callboard.project_items (project_id, priority, position) WHERE status = 'pending';

COMMENT ON TABLE callboard.project_items IS 'The items of a project: each is one task of an agent, done by a run.';
COMMENT ON COLUMN callboard.project_items.position IS 'The place in the project: items of one priority are done in this order.';
COMMENT ON COLUMN callboard.project_items.gates IS 'The gates that its agent named when the item was added: those of a run that is queued for it.';
COMMENT ON COLUMN callboard.project_items.run_id IS 'The run that has taken the item last.';
COMMENT ON COLUMN callboard.project_items.runs IS 'How many runs have taken the item.';

ALTER TABLE callboard.runs
    ADD CONSTRAINT runs_requested_item_fkey FOREIGN KEY (requested_item) REFERENCES callboard.project_items (id),
    ADD CONSTRAINT runs_item_id_fkey FOREIGN KEY (item_id) REFERENCES callboard.project_items (id);
