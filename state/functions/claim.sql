-- Gives a worker the tasks that it can start now, best first, and at once: the commit of this call carries the epoch.
--
-- free_threads tasks of any kind; up to ahead more of the actors in short_actors (a few milliseconds each), and only
-- as long as no other task stands before them. First the heads of every queue and lane are merged without locks to
-- see how many each may give; then exactly so many are locked (all the heads would hide them from the other workers)
-- and led through their gates. Rounds, because a task may stop at a gate.
DROP FUNCTION IF EXISTS callboard.claim;  -- its columns may have changed
CREATE FUNCTION callboard.claim(
    worker text, claim_no bigint, queue_names text[], free_threads integer, ahead integer, short_actors text[],
    retry_share double precision, lease interval, freed_gates text[]
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer,
    max_attempts integer, payload jsonb,
    checkpoint jsonb, tokens bigint, cost numeric, tenant text, to_wake text[], contended boolean
) LANGUAGE plpgsql
-- Whatever the statistics say (they are old when a burst has just arrived), rows are found by their keys.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    open_queues text[];
    wanted integer;
    free_left integer := free_threads;
    retry_turns integer;
    heads text[];
    batch text[];
    gated boolean;
    any_gated boolean := false;
    passing record;
    taken text[] := '{}';
    closed text[] := '{}';
    waking text[] := '{}';
    busy boolean := false;  -- worth another try in a moment
BEGIN
    IF cardinality(freed_gates) > 0 THEN
        PERFORM callboard.wake(freed_gates);
    END IF;
    FOR round IN 1..8 LOOP
        wanted := free_threads + ahead - cardinality(taken);
        EXIT WHEN wanted <= 0;
        SELECT array_agg(h.id), bool_or(h.gates <> '{}'), array_agg(q.queue) INTO heads, gated, open_queues
        FROM unnest(ARRAY['primary', 'retry']) AS l(lane),
             unnest(queue_names) AS q(queue),
             LATERAL (
                SELECT t.id, t.gates
                FROM callboard.tasks t
                WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND NOT t.gates && closed
                  AND t.id <> ALL (taken)
                ORDER BY t.priority, t.rank, t.id
                LIMIT free_left + 1
             ) h
        WHERE NOT EXISTS (
            SELECT FROM callboard.gates g
            WHERE g.key = 'queue:' || q.queue AND (g.paused OR g.closed_until > callboard.now()));
        EXIT WHEN heads IS NULL;
        -- Mostly everything that is queued can start, and has no gates: then there is nothing to choose.
        IF cardinality(heads) <= free_left AND NOT gated AND NOT any_gated THEN
            taken := heads;
            EXIT;
        END IF;
        open_queues := ARRAY(SELECT DISTINCT q FROM unnest(open_queues) AS q);
        IF cardinality(heads) <= free_left THEN
            SELECT array_agg(c.id ORDER BY c.priority, c.rank, c.id), bool_or(c.gates <> '{}')
            INTO batch, gated
            FROM (
                SELECT t.id, t.priority, t.rank, t.gates
                FROM callboard.tasks t
                WHERE t.id = ANY (heads) AND t.status = 'queued'
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS c;
        ELSE
            retry_turns := floor(wanted * retry_share + random());
            WITH heads AS MATERIALIZED (
                SELECT h.*, max(h.available_at) OVER (
                    PARTITION BY h.queue, h.lane, h.priority ORDER BY h.rank, h.id) AS age
                FROM unnest(ARRAY['primary', 'retry']) AS l(lane),
                     unnest(open_queues) AS q(queue),
                     LATERAL (
                        SELECT t.id, t.queue, t.lane, t.priority, t.rank, t.actor, t.available_at
                        FROM callboard.tasks t
                        WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND NOT t.gates && closed
                          AND t.id <> ALL (taken)
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
                SELECT h.*, row_number() OVER (PARTITION BY h.lane ORDER BY h.priority, h.age, h.queue, h.rank, h.id) AS turn
                FROM heads h
            ), picked AS (
                SELECT m.*, row_number() OVER (ORDER BY m.priority, m.age, m.queue, m.rank, m.id) AS place
                FROM merged m, turns t
                WHERE m.turn <= CASE m.lane WHEN 'retry' THEN t.retry ELSE wanted - t.retry END
            ), seen AS (
                SELECT p.*, count(*) FILTER (WHERE p.place > free_left AND p.actor <> ALL (short_actors))
                            OVER (ORDER BY p.place) AS long_before
                FROM picked p
            ), allowed AS (
                SELECT s.queue, s.lane, count(*) AS tasks
                FROM seen s
                WHERE s.place <= free_left OR s.long_before = 0
                GROUP BY s.queue, s.lane
            ), locked AS MATERIALIZED (
                SELECT c.*
                FROM allowed a,
                     LATERAL (
                        SELECT t.id, t.priority, t.rank, t.gates
                        FROM callboard.tasks t
                        WHERE t.status = 'queued' AND t.queue = a.queue AND t.lane = a.lane AND NOT t.gates && closed
                          AND t.id <> ALL (taken)
                        ORDER BY t.priority, t.rank, t.id
                        LIMIT a.tasks
                        FOR NO KEY UPDATE SKIP LOCKED
                     ) c
            )
            SELECT array_agg(c.id ORDER BY c.priority, c.rank, c.id), bool_or(c.gates <> '{}')
            INTO batch, gated FROM locked c;
        END IF;
        EXIT WHEN batch IS NULL;
        IF NOT gated THEN
            taken := taken || batch;
            EXIT WHEN NOT any_gated;  -- as many as there were
        ELSE
            any_gated := true;
            SELECT * INTO passing FROM callboard.pass_gates(batch, wanted);
            taken := taken || passing.taken;
            closed := closed || passing.closed;
            waking := waking || passing.to_wake;
            busy := busy OR passing.contended;
            IF cardinality(passing.closed) > 0 AND NOT passing.contended THEN
                PERFORM callboard.park_behind(passing.closed, open_queues, taken);
            END IF;
        END IF;
        free_left := greatest(free_threads - cardinality(taken), 0);
        busy := busy OR round = 8;
    END LOOP;
    IF cardinality(taken) = 0 THEN
        IF busy OR cardinality(waking) > 0 THEN  -- nothing to start, but something to say
            RETURN QUERY SELECT NULL, NULL::integer, NULL, NULL, NULL, NULL::integer, NULL::integer, NULL::integer, NULL::jsonb,
                                NULL::jsonb, NULL::bigint, NULL::numeric, NULL, waking, busy;
        END IF;
        RETURN;
    END IF;
    RETURN QUERY
    WITH started AS (
        UPDATE callboard.tasks t
        SET status = 'running', epoch = t.epoch + 1, attempt = t.attempt + 1, last_event = t.last_event + 1,
            worker_id = worker, started_at = callboard.now(), updated_at = callboard.now(), cancel_requested = NULL,
            woken_for = NULL, woken_at = NULL, bounces = 0, progress = NULL, reports = 0
        FROM (
            SELECT k.id FROM callboard.tasks k
            WHERE k.id = ANY (taken) AND k.status = 'queued'
              AND (any_gated OR k.gates = '{}')  -- it may have been revived with another payload since it was seen
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS k
        WHERE t.id = k.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.lane, t.attempt, t.attempts_before, t.max_attempts, t.payload,
                  t.checkpoint, t.tokens, t.cost, t.tenant, t.last_event, t.started_at, t.priority, t.rank
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
    SELECT s.id, s.epoch, s.actor, s.queue, s.lane::text, s.attempt, s.attempts_before, s.max_attempts::integer, s.payload,
           s.checkpoint, s.tokens, s.cost, s.tenant, waking, busy
    FROM started s
    ORDER BY s.priority, s.rank, s.id;
    IF any_gated THEN
        PERFORM callboard.take_slots(taken);
    END IF;
END $$;
