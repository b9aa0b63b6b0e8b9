ALTER TABLE callboard.workers ADD COLUMN coroutines integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN callboard.workers.coroutines IS 'Tasks of async actors that it runs at once; 0 for release 23, which runs them in its threads.';
