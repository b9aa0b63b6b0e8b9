-- Gives a worker the tasks that it can start now, best first, and at once: the commit of this call carries the epoch.
--
-- free_threads tasks of any kind; up to ahead more of the actors in short_actors (a few milliseconds each), and only
-- as long as no other task stands before them. First the heads of every queue and lane are merged without locks to
-- see how many each may give; then exactly so many are locked. Locking all the heads would hide them from the other
-- workers.
CREATE OR REPLACE FUNCTION callboard.claim(
    worker text, claim_no bigint, queue_names text[], free_threads integer, ahead integer, short_actors text[],
    retry_share double precision, lease interval
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, lane text, attempt integer, max_attempts integer, payload jsonb,
    checkpoint jsonb, tokens bigint, cost numeric, tenant text
) LANGUAGE plpgsql
-- Whatever the statistics say (they are old when a burst has just arrived), rows are found by their keys.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wanted integer := free_threads + ahead;
    retry_turns integer := floor(wanted * retry_share + random());
BEGIN
    RETURN QUERY
    WITH heads AS MATERIALIZED (
        SELECT h.*
        FROM unnest(ARRAY['primary', 'retry']) AS l(lane),
             unnest(queue_names) AS q(queue),
             LATERAL (
                SELECT t.id, t.queue, t.lane, t.priority, t.rank, t.actor
                FROM callboard.tasks t
                WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane
                ORDER BY t.priority, t.rank, t.id
                LIMIT wanted
             ) h
    ), depths AS (
        SELECT count(*) FILTER (WHERE h.lane = 'primary')::integer AS primary_depth,
               count(*) FILTER (WHERE h.lane = 'retry')::integer AS retry_depth
        FROM heads h
    ), turns AS (
        -- A lane with nothing to give leaves its share to the other.
        SELECT least(d.retry_depth, greatest(retry_turns, wanted - d.primary_depth)) AS retry FROM depths d
    ), merged AS (
        SELECT h.*, row_number() OVER (PARTITION BY h.lane ORDER BY h.priority, h.rank, h.id) AS turn FROM heads h
    ), picked AS (
        SELECT m.*, row_number() OVER (ORDER BY m.priority, m.rank, m.id) AS place
        FROM merged m, turns t
        WHERE m.turn <= CASE m.lane WHEN 'retry' THEN t.retry ELSE wanted - t.retry END
    ), seen AS (
        SELECT p.*, count(*) FILTER (WHERE p.place > free_threads AND p.actor <> ALL (short_actors))
                    OVER (ORDER BY p.place) AS long_before
        FROM picked p
    ), allowed AS (
        SELECT s.queue, s.lane, count(*) AS tasks
        FROM seen s
        WHERE s.place <= free_threads OR s.long_before = 0
        GROUP BY s.queue, s.lane
    ), locked AS MATERIALIZED (
        SELECT c.id
        FROM allowed a,
             LATERAL (
                SELECT t.id
                FROM callboard.tasks t
                WHERE t.status = 'queued' AND t.queue = a.queue AND t.lane = a.lane
                ORDER BY t.priority, t.rank, t.id
                LIMIT a.tasks
                FOR NO KEY UPDATE SKIP LOCKED
             ) c
    ), started AS (
        UPDATE callboard.tasks t
        SET status = 'running', epoch = t.epoch + 1, attempt = t.attempt + 1, last_event = t.last_event + 1,
            worker_id = worker, started_at = callboard.now(), updated_at = callboard.now(), cancel_requested = NULL,
            progress = callboard.starting_progress(t.attempt)
        FROM locked
        WHERE t.id = locked.id
        RETURNING t.*
    ), leased AS (
        INSERT INTO callboard.leases (task_id, epoch, worker_id, claim_number, started_at, renewed_at, expires_at)
        SELECT s.id, s.epoch, worker, claim_no, s.started_at, s.started_at, s.started_at + lease FROM started s
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT s.id, s.last_event, 'status',
               jsonb_build_object('from', 'queued', 'to', 'running', 'attempt', s.attempt, 'worker_id', worker),
               s.started_at
        FROM started s
    )
    SELECT s.id, s.epoch, s.actor, s.queue, s.lane, s.attempt, s.max_attempts, s.payload, s.checkpoint,
           s.tokens, s.cost, s.tenant
    FROM started s
    ORDER BY s.priority, s.rank, s.id;
END $$;
