-- Gives a worker the tasks that it can start now, best first. The commit of this call carries the epoch.
--
-- Threads run tasks of thread_queues, coroutines run tasks of coroutine_queues. Each kind reads only its own queues,
-- so tasks of the other kind cost nothing, however many are queued. A queue in both lists is mixed: there threads leave
-- the tasks of async_actors alone, and coroutines those of sync_actors. Neither looks at more than 256 tasks of the
-- other kind to find its own: those further back have to wait. A queue in one list gives all its tasks to that kind.
-- Up to `ahead` more tasks of the actors in short_actors (a few milliseconds each) come from thread_queues, as long as
-- no other task comes before them. known_actors: the actors that this worker can run; NULL: all.
--
-- First the heads of every queue and lane are merged without locks, to see how many each may give. Then exactly that
-- many are locked (locking all heads would hide them from other workers) and led through their gates. In a mixed queue
-- the heads themselves are locked: to read it again would mean to pass the tasks of the other kind again. There are
-- several rounds, because a task may stop at a gate, or may be for another worker.
CREATE OR REPLACE FUNCTION callboard.claim_tasks(
    worker text, claim_no bigint, thread_queues text[], coroutine_queues text[], threads integer, coroutines integer,
    ahead integer, short_actors text[], known_actors text[], sync_actors text[], async_actors text[],
    retry_share double precision, lease interval
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer,
    max_attempts integer, payload jsonb,
    checkpoint jsonb, tokens bigint, cost numeric, tenant text, gates text[], to_wake text[], contended boolean
) LANGUAGE plpgsql
-- Rows are found by their keys, whatever the statistics say: they are old when a burst has just arrived.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    mixed constant text[] := ARRAY(SELECT q FROM unnest(thread_queues) AS q WHERE q = ANY (coroutine_queues));
    mixed_window constant integer := 256;
    others text[];             -- actors of the other kind
    queue_names text[];
    open_queues text[];
    places integer;
    free_left integer;
    wanted integer;
    before integer;
    retry_turns integer;
    heads text[];
    batch text[];
    unknown text[];
    gated boolean;
    any_gated boolean := false;
    strange boolean;
    strangers text[] := '{}';  -- actors that this worker does not know
    passing record;
    taken text[] := '{}';
    locked text[] := '{}';     -- the taken tasks that are locked and have passed their gates
    closed text[] := '{}';
    waking text[] := '{}';
    busy boolean := false;     -- another try in a moment may find more
    -- A variable, for rows that are looked up by id: with a constant the planner might scan an index of all queued
    -- tasks.
    in_queue constant text := 'queued';
BEGIN
    FOR kind IN 1..2 LOOP
        queue_names := CASE kind WHEN 1 THEN thread_queues ELSE coroutine_queues END;
        others := CASE kind WHEN 1 THEN async_actors ELSE sync_actors END;
        places := CASE kind WHEN 1 THEN threads ELSE coroutines END;
        before := cardinality(taken);
        CONTINUE WHEN cardinality(queue_names) = 0;
        FOR round IN 1..8 LOOP
            free_left := greatest(places + before - cardinality(taken), 0);
            wanted := places + before - cardinality(taken) + CASE kind WHEN 1 THEN ahead ELSE 0 END;
            EXIT WHEN wanted <= 0;
            SELECT array_agg(h.id), bool_or(h.gates <> '{}'), bool_or(h.actor <> ALL (known_actors)),
                   array_agg(q.queue)
            INTO heads, gated, strange, open_queues
            FROM unnest(ARRAY['primary', 'retry']) AS l(lane),
                 unnest(queue_names) AS q(queue),
                 LATERAL (
                    SELECT w.id, w.gates, w.actor
                    FROM (
                        SELECT t.id, t.gates, t.actor
                        FROM callboard.tasks t
                        WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND NOT t.gates && closed
                          AND t.id <> ALL (taken) AND t.actor <> ALL (strangers)
                        ORDER BY t.priority, t.rank, t.id
                        LIMIT free_left + 1 + CASE WHEN q.queue = ANY (mixed) THEN mixed_window ELSE 0 END
                    ) AS w
                    WHERE q.queue <> ALL (mixed) OR w.actor <> ALL (others)
                    LIMIT free_left + 1
                 ) h
            WHERE NOT EXISTS (
                SELECT FROM callboard.gates g
                WHERE g.key = 'queue:' || q.queue AND (g.paused OR g.closed_until > callboard.now()));
            EXIT WHEN heads IS NULL;
            -- Usually all queued tasks can start and have no gates: then there is nothing to choose.
            IF cardinality(heads) <= free_left AND NOT gated AND strange IS NOT TRUE THEN
                taken := taken || heads;
                EXIT;
            END IF;
            open_queues := ARRAY(SELECT DISTINCT q FROM unnest(open_queues) AS q);
            IF cardinality(heads) <= free_left THEN
                SELECT array_agg(c.id ORDER BY c.priority, c.rank, c.id), bool_or(c.gates <> '{}'),
                       array_agg(DISTINCT c.actor) FILTER (WHERE c.actor <> ALL (known_actors))
                INTO batch, gated, unknown
                FROM (
                    SELECT t.id, t.priority, t.rank, t.gates, t.actor
                    FROM callboard.tasks t
                    WHERE t.id = ANY (heads) AND t.status = in_queue
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
                            SELECT w.*
                            FROM (
                                SELECT t.id, t.queue, t.lane, t.priority, t.rank, t.actor, t.available_at
                                FROM callboard.tasks t
                                WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane
                                  AND NOT t.gates && closed AND t.id <> ALL (taken) AND t.actor <> ALL (strangers)
                                ORDER BY t.priority, t.rank, t.id
                                LIMIT wanted + CASE WHEN q.queue = ANY (mixed) THEN mixed_window ELSE 0 END
                            ) AS w
                            WHERE q.queue <> ALL (mixed) OR w.actor <> ALL (others)
                            -- More of a mixed queue, as other workers may have locked the first ones.
                            LIMIT wanted + CASE WHEN q.queue = ANY (mixed) THEN wanted + 32 ELSE 0 END
                         ) h
                ), depths AS (
                    SELECT count(*) FILTER (WHERE h.lane = 'primary')::integer AS primary_depth,
                           count(*) FILTER (WHERE h.lane = 'retry')::integer AS retry_depth
                    FROM heads h
                ), turns AS (
                    -- An empty lane leaves its share to the other.
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
                ), chosen AS MATERIALIZED (
                    SELECT c.*
                    FROM allowed a,
                         LATERAL (
                            SELECT t.id, t.priority, t.rank, t.gates, t.actor
                            FROM callboard.tasks t
                            WHERE t.status = 'queued' AND t.queue = a.queue AND t.lane = a.lane AND NOT t.gates && closed
                              AND t.id <> ALL (taken) AND t.actor <> ALL (strangers)
                            ORDER BY t.priority, t.rank, t.id
                            LIMIT a.tasks
                            FOR NO KEY UPDATE SKIP LOCKED
                         ) c
                    WHERE a.queue <> ALL (mixed)
                    UNION ALL
                    SELECT c.*
                    FROM allowed a,
                         LATERAL (
                            SELECT t.*
                            FROM (
                                SELECT h.id FROM heads h
                                WHERE h.queue = a.queue AND h.lane = a.lane ORDER BY h.priority, h.rank, h.id
                            ) AS h, LATERAL (
                                SELECT t.id, t.priority, t.rank, t.gates, t.actor
                                FROM callboard.tasks t
                                WHERE t.id = h.id AND t.status = in_queue
                                FOR NO KEY UPDATE SKIP LOCKED
                            ) AS t
                            LIMIT a.tasks
                         ) c
                    WHERE a.queue = ANY (mixed)
                )
                SELECT array_agg(c.id ORDER BY c.priority, c.rank, c.id), bool_or(c.gates <> '{}'),
                       array_agg(DISTINCT c.actor) FILTER (WHERE c.actor <> ALL (known_actors))
                INTO batch, gated, unknown FROM chosen c;
            END IF;
            EXIT WHEN batch IS NULL;
            IF unknown IS NOT NULL THEN
                PERFORM callboard.park_unknown(unknown, open_queues);
                strangers := strangers || unknown;
                batch := ARRAY(SELECT b.id FROM unnest(batch) WITH ORDINALITY AS b (id, place)
                               JOIN callboard.tasks t ON t.id = b.id
                               WHERE t.actor <> ALL (unknown) ORDER BY b.place);
                CONTINUE WHEN batch = '{}';
            END IF;
            IF NOT gated THEN
                taken := taken || batch;
                locked := locked || batch;
                EXIT WHEN NOT any_gated AND strangers = '{}';  -- no further round would find more
            ELSE
                any_gated := true;
                SELECT * INTO passing FROM callboard.pass_gates(batch, wanted);
                taken := taken || passing.taken;
                locked := locked || passing.taken;
                closed := closed || passing.closed;
                waking := waking || passing.to_wake;
                busy := busy OR passing.contended;
                IF cardinality(passing.closed) > 0 AND NOT passing.contended THEN
                    PERFORM callboard.park_behind(passing.closed, open_queues, taken);
                END IF;
            END IF;
            busy := busy OR round = 8;
        END LOOP;
    END LOOP;
    IF cardinality(taken) = 0 THEN
        IF busy OR cardinality(waking) > 0 THEN  -- nothing to start, but the caller has to wake gates or try again
            RETURN QUERY SELECT NULL, NULL::integer, NULL, NULL, NULL, NULL::integer, NULL::integer, NULL::integer, NULL::jsonb,
                                NULL::jsonb, NULL::bigint, NULL::numeric, NULL, NULL::text[], waking, busy;
        END IF;
        RETURN;
    END IF;
    RETURN QUERY
    WITH moved AS (
        UPDATE callboard.tasks t
        SET status = 'running', epoch = t.epoch + 1, attempt = t.attempt + 1, worker_id = worker,
            started_at = callboard.now(), cancel_requested = NULL, progress = NULL, reports = 0,
            /*leave_line*/, /*count_move*/
        FROM (
            SELECT k.id FROM callboard.tasks k
            WHERE k.id = ANY (taken) AND k.status = in_queue
              -- A task that was read without a lock may have got gates since: it may have been revived with another
              -- payload.
              AND (k.gates = '{}' OR k.id = ANY (locked))
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS k
        WHERE t.id = k.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.lane, t.attempt, t.attempts_before, t.max_attempts, t.payload,
                  t.checkpoint, t.tokens, t.cost, t.tenant, t.gates, t.last_event, t.started_at, t.priority, t.rank
    ), leased AS (
        INSERT INTO callboard.leases (task_id, epoch, worker_id, claim_number, started_at, renewed_at, expires_at)
        SELECT m.id, m.epoch, worker, claim_no, m.started_at, m.started_at, m.started_at + lease FROM moved m
    ), logged AS (
        /*log_move*/ jsonb_build_object('from', 'queued', 'to', 'running', 'attempt', m.attempt, 'worker_id', worker)
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.lane::text, m.attempt, m.attempts_before, m.max_attempts::integer, m.payload,
           m.checkpoint, m.tokens, m.cost, m.tenant, m.gates, waking, busy
    FROM moved m
    ORDER BY m.priority, m.rank, m.id;
END $$;

CREATE OR REPLACE FUNCTION callboard.claim_tasks(  -- for release 23, which has no mixed queues
    worker text, claim_no bigint, thread_queues text[], coroutine_queues text[], threads integer, coroutines integer,
    ahead integer, short_actors text[], known_actors text[], retry_share double precision, lease interval
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer,
    max_attempts integer, payload jsonb,
    checkpoint jsonb, tokens bigint, cost numeric, tenant text, gates text[], to_wake text[], contended boolean
) LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY SELECT * FROM callboard.claim_tasks(
        worker, claim_no, thread_queues, coroutine_queues, threads, coroutines, ahead, short_actors, known_actors, '{}', '{}',
        retry_share, lease);
END $$;
