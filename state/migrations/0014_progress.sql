-- What nobody has said is not stored: before its code says anything, a task's progress follows from its other columns.
ALTER TABLE callboard.tasks ALTER COLUMN progress DROP NOT NULL;
DROP FUNCTION IF EXISTS callboard.starting_progress;
