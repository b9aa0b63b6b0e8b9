-- Returns for how many seconds a worker that has just connected must not claim.
--
-- A server that takes over from another may not have its last commits. A task that the other one has given to a worker
-- is then still queued here, and the epoch of that claim is given again. The worker that runs the task learns this with
-- its next pulse, or stops when its lease ends. So nothing is claimed here for as long as a lease lasts. The same holds
-- for a database that was restored from a backup. A server whose timeline cannot be read is taken for the same as ever.
CREATE OR REPLACE FUNCTION callboard.wait_after_failover(lease interval) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    this integer;
    met timestamptz;
BEGIN
    BEGIN
        this := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
    EXCEPTION WHEN OTHERS THEN
        RETURN 0;
    END;
    SELECT t.since INTO met FROM callboard.timelines t WHERE t.timeline = this;
    IF met IS NULL THEN
        INSERT INTO callboard.timelines AS t (timeline, since)
        SELECT this, CASE WHEN EXISTS (SELECT FROM callboard.timelines) THEN callboard.now() ELSE '-infinity' END
        ON CONFLICT (timeline) DO UPDATE SET since = t.since  -- another worker has met it at the same moment
        RETURNING t.since INTO met;
    END IF;
    RETURN CASE WHEN met = '-infinity' THEN 0
                ELSE least(greatest(extract(epoch FROM met + lease - callboard.now()), 0), extract(epoch FROM lease)) END;
END $$;
