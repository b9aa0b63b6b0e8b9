-- How many reports of the execution that runs now have been written: one that is sent again, because a connection was lost
-- before its answer came, is known by its number.
ALTER TABLE callboard.tasks ADD COLUMN reports integer NOT NULL DEFAULT 0;
