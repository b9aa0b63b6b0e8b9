-- When the database has moved to another server: see state/tables/timelines.sql.
CREATE TABLE callboard.timelines (
    timeline integer PRIMARY KEY,
    since    timestamptz NOT NULL
);
