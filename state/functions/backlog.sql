-- For the pulse: whether there are tasks to claim in these queues, and the length of the retry lane up to a limit.
CREATE OR REPLACE FUNCTION callboard.backlog(
    queue_names text[], retry_limit integer, OUT has_work boolean, OUT retry_depth integer
) LANGUAGE plpgsql STABLE
-- Rows are found by their keys, whatever the statistics say: they are old when a burst has just arrived.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    queue_name text;
BEGIN
    has_work := false;
    FOREACH queue_name IN ARRAY queue_names LOOP
        EXIT WHEN has_work;
        CONTINUE WHEN EXISTS (
            SELECT FROM callboard.gates g
            WHERE g.key = 'queue:' || queue_name AND (g.paused OR g.closed_until > callboard.now()));
        has_work := EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'queued' AND t.queue = queue_name);
    END LOOP;
    SELECT count(*) INTO retry_depth FROM (
        SELECT FROM callboard.tasks t
        WHERE t.status = 'queued' AND t.queue = ANY (queue_names) AND t.lane = 'retry'
        LIMIT retry_limit
    ) AS queued;
END $$;
