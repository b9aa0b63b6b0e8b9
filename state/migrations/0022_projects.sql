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
    outcome        text CHECK (outcome IN ('completed', 'canceled', 'dead')),
    reason         text,
    CONSTRAINT runs_outcome_at_end CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT runs_item_after_start CHECK (item_id IS NULL OR started_at IS NOT NULL)
);
-- Two live runs of one project are impossible.
CREATE UNIQUE INDEX runs_live ON callboard.runs (project_id) WHERE ended_at IS NULL;
CREATE INDEX runs_of_project ON callboard.runs (project_id, id);

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
CREATE INDEX project_items_next ON callboard.project_items (project_id, priority, position) WHERE status = 'pending';

ALTER TABLE callboard.runs
    ADD CONSTRAINT runs_requested_item_fkey FOREIGN KEY (requested_item) REFERENCES callboard.project_items (id),
    ADD CONSTRAINT runs_item_id_fkey FOREIGN KEY (item_id) REFERENCES callboard.project_items (id);
