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
    updated_at  timestamptz NOT NULL
);
CREATE TABLE callboard.runs (
    id         text COLLATE "C" PRIMARY KEY,
    project_id text COLLATE "C" NOT NULL REFERENCES callboard.projects (id),
    ended_at   timestamptz
);
CREATE UNIQUE INDEX runs_live ON callboard.runs (project_id) WHERE ended_at IS NULL;

COMMENT ON TABLE callboard.runs IS 'Runs of projects. A run is one task of the actor project_run, with the same id.';
