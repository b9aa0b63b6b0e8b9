-- What a single value may be is said by its type. A CHECK costs every statement that touches the table: Postgres reads
-- its text anew each time, for these columns as long as it takes to insert a row.
CREATE DOMAIN callboard.lane AS text COLLATE "C" CHECK (VALUE IN ('primary', 'retry'));
CREATE DOMAIN callboard.priority AS smallint CHECK (VALUE BETWEEN 0 AND 3);
CREATE DOMAIN callboard.attempt_limit AS integer CHECK (VALUE > 0);
CREATE DOMAIN callboard.stop_request AS text CHECK (VALUE IN ('pause', 'cancel', 'force'));
CREATE DOMAIN callboard.outcome AS text
    CHECK (VALUE IN ('completed', 'failed', 'lost', 'released', 'paused', 'canceled'));

-- They stand on these columns; `migrate` makes them anew.
DROP VIEW IF EXISTS admin.dead_letters, admin.errors_by_actor, admin.gates, admin.invariants, admin.queue_status,
    admin.slow_tasks, admin.targets, admin.tasks, admin.why_waiting, admin.workers;

ALTER TABLE callboard.tasks
    DROP CONSTRAINT IF EXISTS tasks_lane_check,
    DROP CONSTRAINT IF EXISTS tasks_priority_check,
    DROP CONSTRAINT IF EXISTS tasks_max_attempts_check,
    DROP CONSTRAINT IF EXISTS tasks_cancel_requested_check,
    ALTER COLUMN lane TYPE callboard.lane,
    ALTER COLUMN priority TYPE callboard.priority,
    ALTER COLUMN max_attempts TYPE callboard.attempt_limit,
    ALTER COLUMN cancel_requested TYPE callboard.stop_request;

ALTER TABLE callboard.attempts
    DROP CONSTRAINT IF EXISTS attempts_outcome_check,
    ALTER COLUMN outcome TYPE callboard.outcome;
