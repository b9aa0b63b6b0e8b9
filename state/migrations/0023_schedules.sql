CREATE TABLE callboard.schedules (
    id              text COLLATE "C" PRIMARY KEY,
    name            text COLLATE "C" NOT NULL,
    tenant          text COLLATE "C",
    cron            text NOT NULL,
    timezone        text NOT NULL,
    catch_up        text NOT NULL CHECK (catch_up IN ('skip', 'one', 'all')),
    overlap         text NOT NULL CHECK (overlap IN ('allow', 'skip')),
    jitter_seconds  integer NOT NULL CHECK (jitter_seconds >= 0),

    actor           text NOT NULL,
    payload         jsonb NOT NULL,
    options         jsonb NOT NULL,
    queue           text COLLATE "C" NOT NULL,
    priority        smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    max_attempts    integer NOT NULL CHECK (max_attempts > 0),
    max_age         double precision,
    target          text COLLATE "C",
    gates           text[] NOT NULL DEFAULT '{}',
    gate_limits     integer[] NOT NULL DEFAULT '{}',

    paused          boolean NOT NULL DEFAULT false,
    next_at         timestamptz,
    last_tick       timestamptz,
    last_error      text,
    last_run        integer NOT NULL DEFAULT 0,
    last_task       text COLLATE "C",
    revision        integer NOT NULL DEFAULT 1,
    declared        jsonb,
    created_by      text,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    deleted_at      timestamptz,
    CONSTRAINT schedules_next_unless_paused CHECK ((next_at IS NULL) = (paused OR deleted_at IS NOT NULL))
);

COMMENT ON TABLE callboard.schedules IS 'Recurring tasks. A schedule''s row is locked before the tasks that it starts are inserted.';
COMMENT ON COLUMN callboard.schedules.cron IS 'Five fields, or an alias such as @daily; on the wall clock of the time zone.';
COMMENT ON COLUMN callboard.schedules.catch_up IS 'What becomes of ticks for which no maintainer was there: none starts, one for all of them, or each.';
COMMENT ON COLUMN callboard.schedules.overlap IS 'Whether a tick starts a task although the last one has not ended.';
COMMENT ON COLUMN callboard.schedules.jitter_seconds IS 'A task starts up to so many seconds after its tick; how many follows from the tick.';
COMMENT ON COLUMN callboard.schedules.options IS 'What was asked for of queue, priority and max_attempts; the columns have what follows from it and from the actor.';
COMMENT ON COLUMN callboard.schedules.next_at IS 'The next tick.';
COMMENT ON COLUMN callboard.schedules.last_tick IS 'The newest tick that was looked at.';
COMMENT ON COLUMN callboard.schedules.last_error IS 'Why the last tick has started nothing; NULL after one that has.';
COMMENT ON COLUMN callboard.schedules.last_run IS 'n of the newest row in schedule_runs.';
COMMENT ON COLUMN callboard.schedules.last_task IS 'The task that was started last.';
COMMENT ON COLUMN callboard.schedules.revision IS '+1 at each change: what was planned for an older revision is not done.';
COMMENT ON COLUMN callboard.schedules.declared IS 'What the code declares of it; NULL for a schedule that a user has created.';

CREATE INDEX schedules_due ON callboard.schedules (next_at) WHERE next_at IS NOT NULL;
CREATE UNIQUE INDEX schedules_name ON callboard.schedules (name, tenant) NULLS NOT DISTINCT WHERE deleted_at IS NULL;

CREATE TABLE callboard.schedule_runs (
    schedule_id text COLLATE "C" NOT NULL REFERENCES callboard.schedules (id),
    n           integer NOT NULL,
    tick        timestamptz,
    outcome     text COLLATE "C" NOT NULL CHECK (outcome IN ('started', 'skipped', 'failed')),
    task_id     text COLLATE "C",
    missed      integer NOT NULL DEFAULT 0,
    reason      text,
    asked_by    text,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (schedule_id, n),
    CONSTRAINT schedule_runs_tick UNIQUE (schedule_id, tick),
    CONSTRAINT schedule_runs_task UNIQUE (task_id),
    CONSTRAINT schedule_runs_started CHECK ((task_id IS NOT NULL) = (outcome = 'started'))
);

COMMENT ON TABLE callboard.schedule_runs IS 'The history of schedules: what became of each tick. A tick is started once: schedule_runs_tick.';
COMMENT ON COLUMN callboard.schedule_runs.tick IS 'The moment that the schedule names; NULL for a run that somebody has asked for.';
COMMENT ON COLUMN callboard.schedule_runs.missed IS 'Earlier ticks that came while no maintainer was there, and that have no row of their own; counted up to 1,000.';
COMMENT ON COLUMN callboard.schedule_runs.reason IS 'Why nothing was started.';
