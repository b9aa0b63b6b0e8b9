-- Reads of the history of one task, for statements that look at several. With the id as a parameter only the partition of
-- that task is opened; a join opens all of them, each time.
CREATE OR REPLACE FUNCTION callboard.events_after(task text, after integer, most integer) RETURNS TABLE (
    n integer, kind text, data jsonb, at timestamptz
) LANGUAGE plpgsql STABLE ROWS 10
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
    RETURN QUERY
    SELECT e.n, e.kind, e.data, e.at FROM callboard.events e
    WHERE e.task_id = task AND e.n > after ORDER BY e.n LIMIT most;
END $$;

-- The errors of all attempts that have ended with one.
CREATE OR REPLACE FUNCTION callboard.errors_of(task text) RETURNS jsonb[] LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN ARRAY(SELECT a.error FROM callboard.attempts a
                 WHERE a.task_id = task AND a.error IS NOT NULL ORDER BY a.epoch);
END $$;

-- Who has asked last for the stop of a running task; NULL: nobody has said.
CREATE OR REPLACE FUNCTION callboard.stop_asked_by(task text) RETURNS text LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT e.data ->> 'by' FROM callboard.events e
            WHERE e.task_id = task AND e.kind = 'control' AND e.data ->> 'stage' = 'requested'
            ORDER BY e.n DESC LIMIT 1);
END $$;

-- The attempts that have ended.
CREATE OR REPLACE FUNCTION callboard.attempts_after(task text, after integer, most integer) RETURNS TABLE (
    epoch integer, attempt integer, worker_id text, outcome text, error jsonb, started_at timestamptz, finished_at timestamptz
) LANGUAGE plpgsql STABLE ROWS 10
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
    RETURN QUERY
    SELECT a.epoch, a.attempt, a.worker_id, a.outcome::text, a.error, a.started_at, a.finished_at
    FROM callboard.attempts a
    WHERE a.task_id = task AND a.epoch > after ORDER BY a.epoch LIMIT most;
END $$;
