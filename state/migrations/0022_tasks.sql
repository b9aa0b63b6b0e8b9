-- The workflow that a task belongs to. Without defaults, so that no row is rewritten; the reference to workflows is added
-- by 0022_workflows.sql.
ALTER TABLE callboard.tasks
    ADD COLUMN workflow_id text COLLATE "C",
    ADD COLUMN step        text COLLATE "C",
    ADD COLUMN branch      integer;
