-- A place that is kept for a while for a task with several gates, which others would overtake for ever.
CREATE TABLE callboard.reservations (
    gate       text COLLATE "C" PRIMARY KEY,
    task_id    text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX reservations_task ON callboard.reservations (task_id);
