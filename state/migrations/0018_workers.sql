ALTER TABLE callboard.workers
    ADD COLUMN start_ticks bigint,  -- the kernel's start time of the process; NULL where it is not known
    ADD COLUMN actors      text[];  -- names of the actors that the worker knows; NULL for workers of release 15

-- The one worker that does the cluster's housekeeping. Always exactly one row.
CREATE TABLE callboard.maintainer (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    worker_id  text,
    expires_at timestamptz
) WITH (fillfactor = 50);
INSERT INTO callboard.maintainer DEFAULT VALUES;
