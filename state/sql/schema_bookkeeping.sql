CREATE SCHEMA IF NOT EXISTS callboard;
CREATE SCHEMA IF NOT EXISTS admin;
CREATE TABLE IF NOT EXISTS callboard.applied_files (
    name       text PRIMARY KEY,
    digest     text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
