-- Workers of release 15, which have all stopped, did not say which actors they know.
LOCK TABLE callboard.workers IN ACCESS EXCLUSIVE MODE;
UPDATE callboard.workers SET actors = '{}' WHERE actors IS NULL;
-- process_started is written by release 21 only, and read by nobody.
ALTER TABLE callboard.workers
    ALTER COLUMN actors SET NOT NULL,
    ALTER COLUMN process_started DROP NOT NULL;
