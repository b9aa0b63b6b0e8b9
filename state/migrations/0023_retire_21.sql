-- Only release 21 has written it.
ALTER TABLE callboard.workers DROP COLUMN IF EXISTS process_started;
