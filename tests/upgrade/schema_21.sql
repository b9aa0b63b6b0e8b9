-- The schema of release 21, as its `callboard migrate` makes it. Never edited: see schema.py.
SET check_function_bodies = false;

--
-- Name: admin; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA admin;


--
-- Name: callboard; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA callboard;


--
-- Name: dramatiq; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA dramatiq;


--
-- Name: attempt_limit; Type: DOMAIN; Schema: callboard; Owner: -
--

CREATE DOMAIN callboard.attempt_limit AS integer
	CONSTRAINT attempt_limit_check CHECK ((VALUE > 0));


--
-- Name: lane; Type: DOMAIN; Schema: callboard; Owner: -
--

CREATE DOMAIN callboard.lane AS text COLLATE pg_catalog."C"
	CONSTRAINT lane_check CHECK ((VALUE = ANY (ARRAY['primary'::text, 'retry'::text])));


--
-- Name: outcome; Type: DOMAIN; Schema: callboard; Owner: -
--

CREATE DOMAIN callboard.outcome AS text
	CONSTRAINT outcome_check CHECK ((VALUE = ANY (ARRAY['completed'::text, 'failed'::text, 'lost'::text, 'released'::text, 'paused'::text, 'canceled'::text])));


--
-- Name: priority; Type: DOMAIN; Schema: callboard; Owner: -
--

CREATE DOMAIN callboard.priority AS smallint
	CONSTRAINT priority_check CHECK (((VALUE >= 0) AND (VALUE <= 3)));


--
-- Name: stop_request; Type: DOMAIN; Schema: callboard; Owner: -
--

CREATE DOMAIN callboard.stop_request AS text
	CONSTRAINT stop_request_check CHECK ((VALUE = ANY (ARRAY['pause'::text, 'cancel'::text, 'force'::text])));


--
-- Name: state; Type: TYPE; Schema: dramatiq; Owner: -
--

CREATE TYPE dramatiq.state AS ENUM (
    'queued',
    'consumed',
    'rejected',
    'done'
);


--
-- Name: actor_is_known(text, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.actor_is_known(its_actor text, its_queue text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM callboard.workers w
        WHERE w.stopped_at IS NULL AND its_queue = ANY (w.queues) AND (w.actors IS NULL OR its_actor = ANY (w.actors)))
$$;


--
-- Name: awaited_actors(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.awaited_actors() RETURNS TABLE(actor text, known boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    gate_key text := 'actor:';
    queue_name text;
BEGIN
    FOR turn IN 1..1000 LOOP
        SELECT t.waiting_gate, t.queue INTO gate_key, queue_name FROM callboard.tasks t
        WHERE t.status = 'waiting' AND t.waiting_gate > gate_key AND t.waiting_gate < 'actor;'
        ORDER BY t.waiting_gate, t.priority, t.rank, t.id LIMIT 1;
        EXIT WHEN gate_key IS NULL;
        actor := substr(gate_key, length('actor:') + 1);
        known := callboard.actor_is_known(actor, queue_name);
        RETURN NEXT;
    END LOOP;
END $$;


--
-- Name: backfill_slots(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.backfill_slots() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM callboard.slots WHERE epoch = 0;  -- places that release 15 has kept for tasks that do not run; they are reservations now
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT k.key, l.task_id, l.epoch
    FROM (SELECT task_id, epoch FROM callboard.leases ORDER BY task_id FOR KEY SHARE) AS l
    JOIN callboard.tasks t ON t.id = l.task_id AND t.epoch = l.epoch AND t.status = 'running',
         unnest(t.gates) AS k (key)
    ON CONFLICT DO NOTHING;
END $$;


--
-- Name: backlog(text[], integer); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.backlog(queue_names text[], retry_limit integer, OUT has_work boolean, OUT retry_depth integer) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
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


--
-- Name: claim(text, bigint, text[], integer, integer, text[], double precision, interval, text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.claim(worker text, claim_no bigint, queue_names text[], free_threads integer, ahead integer, short_actors text[], retry_share double precision, lease interval, freed_gates text[]) RETURNS TABLE(id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer, max_attempts integer, payload jsonb, checkpoint jsonb, tokens bigint, cost numeric, tenant text, to_wake text[], contended boolean)
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(freed_gates) > 0 THEN
        PERFORM callboard.wake(freed_gates);
    END IF;
    RETURN QUERY
    SELECT c.id, c.epoch, c.actor, c.queue, c.lane, c.attempt, c.attempts_before, c.max_attempts, c.payload,
           c.checkpoint, c.tokens, c.cost, c.tenant, c.to_wake, c.contended
    FROM callboard.claim_tasks(
        worker, claim_no, queue_names, '{}', free_threads, 0, ahead, short_actors, NULL, retry_share, lease) AS c;
END $$;


--
-- Name: claim_tasks(text, bigint, text[], text[], integer, integer, integer, text[], text[], double precision, interval); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.claim_tasks(worker text, claim_no bigint, thread_queues text[], coroutine_queues text[], threads integer, coroutines integer, ahead integer, short_actors text[], known_actors text[], retry_share double precision, lease interval) RETURNS TABLE(id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer, max_attempts integer, payload jsonb, checkpoint jsonb, tokens bigint, cost numeric, tenant text, gates text[], to_wake text[], contended boolean)
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
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
                    SELECT t.id, t.gates, t.actor
                    FROM callboard.tasks t
                    WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND NOT t.gates && closed
                      AND t.id <> ALL (taken) AND t.actor <> ALL (strangers)
                    ORDER BY t.priority, t.rank, t.id
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
                            SELECT t.id, t.queue, t.lane, t.priority, t.rank, t.actor, t.available_at
                            FROM callboard.tasks t
                            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND NOT t.gates && closed
                              AND t.id <> ALL (taken) AND t.actor <> ALL (strangers)
                            ORDER BY t.priority, t.rank, t.id
                            LIMIT wanted
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
            waiting_gate = NULL, waiting_reason = NULL, woken_for = NULL, woken_at = NULL, bounces = 0, last_event = t.last_event + 1, updated_at = callboard.now()
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
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_build_object('from', 'queued', 'to', 'running', 'attempt', m.attempt, 'worker_id', worker)
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.lane::text, m.attempt, m.attempts_before, m.max_attempts::integer, m.payload,
           m.checkpoint, m.tokens, m.cost, m.tenant, m.gates, waking, busy
    FROM moved m
    ORDER BY m.priority, m.rank, m.id;
END $$;


--
-- Name: current_round(text, text, smallint); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.current_round(its_queue text, its_lane text, its_priority smallint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET enable_sort TO 'off'
    AS $$
DECLARE
    head bigint;
BEGIN
    SELECT t.rank INTO head FROM callboard.tasks t
    WHERE t.status = 'queued' AND t.queue = its_queue AND t.lane = its_lane AND t.priority = its_priority
    ORDER BY t.rank LIMIT 1;
    RETURN coalesce(head / 2, (extract(epoch FROM callboard.now()) * 1000000)::bigint);
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: tasks; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.tasks (
    id text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    lane callboard.lane DEFAULT 'primary'::text NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    priority callboard.priority NOT NULL,
    rank bigint NOT NULL,
    tenant text COLLATE pg_catalog."C",
    target text COLLATE pg_catalog."C",
    dedup_key text,
    payload jsonb NOT NULL,
    checkpoint jsonb DEFAULT '{}'::jsonb NOT NULL,
    progress jsonb,
    result jsonb,
    error jsonb,
    tokens bigint DEFAULT 0 NOT NULL,
    cost numeric DEFAULT 0 NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    max_attempts callboard.attempt_limit NOT NULL,
    attempts_before integer DEFAULT 0 NOT NULL,
    worker_id text,
    cancel_requested callboard.stop_request,
    last_event integer DEFAULT 1 NOT NULL,
    reports integer DEFAULT 0 NOT NULL,
    gates text[] DEFAULT '{}'::text[] NOT NULL,
    gate_limits integer[] DEFAULT '{}'::integer[] NOT NULL,
    waiting_gate text COLLATE pg_catalog."C",
    waiting_reason text,
    woken_for text COLLATE pg_catalog."C",
    woken_at timestamp with time zone,
    bounces integer DEFAULT 0 NOT NULL,
    available_at timestamp with time zone NOT NULL,
    max_age double precision,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    hidden_at timestamp with time zone
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');


--
-- Name: TABLE tasks; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.tasks IS 'One unit of work that somebody asked for. Rows are kept for ever.';


--
-- Name: COLUMN tasks.id; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.id IS 'tq_ and a time-ordered id, given by the submitter.';


--
-- Name: COLUMN tasks.actor; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.actor IS 'The kind of work.';


--
-- Name: COLUMN tasks.lane; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.lane IS 'primary for new tasks, retry for tasks that run again.';


--
-- Name: COLUMN tasks.status; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.status IS 'Moves are listed in state/transitions.py; the trigger guard_moves refuses any other.';


--
-- Name: COLUMN tasks.priority; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.priority IS '0 (first) to 3.';


--
-- Name: COLUMN tasks.rank; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.rank IS 'The place among tasks of one queue, lane and priority, set on entering the queue; see entry_rank.';


--
-- Name: COLUMN tasks.target; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.target IS 'Tasks of one target run one after the other, in the order of their creation.';


--
-- Name: COLUMN tasks.checkpoint; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.checkpoint IS 'Saved by the running code and kept over attempts.';


--
-- Name: COLUMN tasks.progress; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.progress IS '{percent, message, elapsed_ms, updated_at}; NULL until the attempt says something.';


--
-- Name: COLUMN tasks.error; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.error IS 'The last failure: {type, category, message, details, traceback}.';


--
-- Name: COLUMN tasks.tokens; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.tokens IS 'Used over all attempts, like cost.';


--
-- Name: COLUMN tasks.epoch; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.epoch IS 'The fencing token: +1 at each claim, never reset.';


--
-- Name: COLUMN tasks.attempt; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.attempt IS 'Counted at the claim; a released execution gives it back.';


--
-- Name: COLUMN tasks.attempts_before; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.attempts_before IS 'Attempts used when the task was revived last; max_attempts goes on counting from there.';


--
-- Name: COLUMN tasks.worker_id; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.worker_id IS 'The worker that runs the task now.';


--
-- Name: COLUMN tasks.cancel_requested; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.cancel_requested IS 'What the worker of a running task is asked for.';


--
-- Name: COLUMN tasks.last_event; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.last_event IS 'n of the newest row in events.';


--
-- Name: COLUMN tasks.reports; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.reports IS 'Reports written by the running execution: a report that is sent again is recognized by its number.';


--
-- Name: COLUMN tasks.gates; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.gates IS 'Keys of the gates that the task must pass to start, in the order of the keys.';


--
-- Name: COLUMN tasks.gate_limits; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.gate_limits IS 'The limit that the actor declares for each of the gates; used for gates that have no row yet.';


--
-- Name: COLUMN tasks.waiting_gate; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.waiting_gate IS 'The gate in whose line a waiting task stands.';


--
-- Name: COLUMN tasks.woken_for; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.woken_for IS 'The gate that has let a queued task out of its line; NULL when it has started.';


--
-- Name: COLUMN tasks.bounces; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.bounces IS 'How often the task was woken for one gate and stopped at another since it entered the queue.';


--
-- Name: COLUMN tasks.available_at; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.available_at IS 'The earliest start.';


--
-- Name: COLUMN tasks.max_age; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.max_age IS 'Seconds from available_at to expires_at, as they were asked for: a revived task gets them again.';


--
-- Name: COLUMN tasks.expires_at; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.expires_at IS 'A task that has not started by then is dead.';


--
-- Name: COLUMN tasks.hidden_at; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.tasks.hidden_at IS 'When the finished task was deleted by a user; the row stays as audit trail.';


--
-- Name: dead_letter_fits(callboard.tasks, jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.dead_letter_fits(t callboard.tasks, wanted jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT t.hidden_at IS NULL
       AND (wanted ->> 'actor' IS NULL OR t.actor = wanted ->> 'actor')
       AND (wanted ->> 'error_type' IS NULL OR t.error ->> 'type' = wanted ->> 'error_type')
       AND (wanted ->> 'tenant' IS NULL OR t.tenant = wanted ->> 'tenant')
       AND (wanted ->> 'died_by' IS NULL OR t.finished_at <= (wanted ->> 'died_by')::timestamptz)
$$;


--
-- Name: declare_gates(jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.declare_gates(declared jsonb) RETURNS TABLE(key text)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    said callboard.gates;
    there callboard.gates;
    wanted callboard.gates;
BEGIN
    FOR said IN
        SELECT i.* FROM jsonb_populate_recordset(NULL::callboard.gates, declared) AS i ORDER BY i.key
    LOOP
        SELECT * INTO there FROM callboard.gates g WHERE g.key = said.key;
        IF NOT FOUND THEN
            IF NOT pg_try_advisory_xact_lock(callboard.gate_lock(said.key)) THEN
                key := said.key;
                RETURN NEXT;
                CONTINUE;
            END IF;
            -- Every session that inserts a gate holds its key: the row is either missing or committed.
            INSERT INTO callboard.gates (key) VALUES (said.key) ON CONFLICT (key) DO NOTHING;
            SELECT * INTO there FROM callboard.gates g WHERE g.key = said.key;
        END IF;
        wanted := callboard.follow_code(there, said);
        CONTINUE WHEN wanted IS NOT DISTINCT FROM there;
        SELECT * INTO there FROM callboard.gates g WHERE g.key = said.key FOR NO KEY UPDATE SKIP LOCKED;
        wanted := callboard.follow_code(there, said);
        IF NOT FOUND OR callboard.gate_counts(wanted) AND NOT callboard.gate_counts(there)
                        AND NOT pg_try_advisory_xact_lock(callboard.gate_lock(said.key)) THEN
            key := said.key;
            RETURN NEXT;
            CONTINUE;
        END IF;
        UPDATE callboard.gates g
        SET declared_concurrent = wanted.declared_concurrent, max_concurrent = wanted.max_concurrent,
            declared_rate_count = wanted.declared_rate_count, declared_rate_seconds = wanted.declared_rate_seconds,
            rate_count = wanted.rate_count, rate_seconds = wanted.rate_seconds,
            declared_breaker_threshold = wanted.declared_breaker_threshold,
            declared_breaker_volume = wanted.declared_breaker_volume,
            declared_breaker_window = wanted.declared_breaker_window,
            declared_breaker_seconds = wanted.declared_breaker_seconds,
            breaker_threshold = wanted.breaker_threshold, breaker_volume = wanted.breaker_volume,
            breaker_window = wanted.breaker_window, breaker_seconds = wanted.breaker_seconds
        WHERE g.key = said.key;
    END LOOP;
END $$;


--
-- Name: dismiss(text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.dismiss(ids text[]) RETURNS TABLE(id text, epoch integer, actor text, queue text, before text, status text, gates text[])
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.hidden_at IS NULL
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'canceled', finished_at = callboard.now(), last_event = t.last_event + 1, updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.status, t.last_event, 'dead' AS before
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), '{"from": "dead", "to": "canceled", "reason": "dismissed"}' FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.before, m.status, m.gates FROM moved m;
END $$;


--
-- Name: drop_reservations(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.drop_reservations() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.status IN ('queued', 'waiting') AND NEW.status NOT IN ('queued', 'waiting') THEN
        DELETE FROM callboard.reservations WHERE task_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;


--
-- Name: drop_slots(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.drop_slots() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    DELETE FROM callboard.slots s WHERE s.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g));
    RETURN NULL;
END $$;


--
-- Name: enter_gates(text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.enter_gates(starting text[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    keys text[];
BEGIN
    WITH entered AS (
        INSERT INTO callboard.slots (gate, task_id, epoch)
        SELECT DISTINCT k.key, t.id, t.epoch + 1
        FROM callboard.tasks t, unnest(t.gates) AS k (key)
        WHERE t.id = ANY (starting)
        ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch
        RETURNING gate
    )
    SELECT array_agg(g.key) INTO keys FROM callboard.gates g
    WHERE g.key = ANY (ARRAY(SELECT e.gate FROM entered e)) AND (g.rate_count IS NOT NULL OR g.breaker_state = 'half_open');
    IF keys IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO callboard.gate_starts (gate, at, n)
    SELECT g.key, callboard.now(),
           coalesce((SELECT s.n FROM callboard.gate_starts s WHERE s.gate = g.key AND s.n IS NOT NULL
                     ORDER BY s.n DESC LIMIT 1), 0) + row_number() OVER (PARTITION BY g.key)
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (starting) AND g.key = ANY (keys) AND g.rate_count IS NOT NULL;

    UPDATE callboard.gates g
    SET probe_task = p.id, probe_epoch = p.epoch
    FROM (SELECT DISTINCT ON (k.key) k.key, t.id, t.epoch + 1 AS epoch
          FROM callboard.tasks t, unnest(t.gates) AS k (key)
          WHERE t.id = ANY (starting) AND k.key = ANY (keys) ORDER BY k.key, t.id) AS p
    WHERE g.key = p.key AND g.breaker_state = 'half_open' AND g.probe_task IS NULL;
END $$;


--
-- Name: entry_rank(text, text, smallint, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.entry_rank(its_queue text, its_lane text, its_priority smallint, its_tenant text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    -- Not in the query itself: its cost there would make a new plan for each call look cheaper than a generic one.
    its_key bigint := callboard.fair_key(its_queue, its_lane, its_priority, its_tenant);
    last bigint;
BEGIN
    SELECT t.rank INTO last FROM callboard.tasks t
    WHERE t.status = 'queued' AND callboard.fair_key(t.queue, t.lane, t.priority, t.tenant) = its_key
    ORDER BY t.rank DESC LIMIT 1;
    IF last IS NOT NULL THEN
        RETURN (last / 2 + 1) * 2 + 1;
    END IF;
    RETURN (callboard.current_round(its_queue, its_lane, its_priority) + 1) * 2;
END $$;


--
-- Name: fair_key(text, text, smallint, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.fair_key(queue text, lane text, priority smallint, tenant text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE COST 1e+06 PARALLEL SAFE
    AS $$
BEGIN
    RETURN hashtextextended(queue, hashtextextended(lane, hashtextextended(coalesce(tenant, ''), priority)));
END $$;


--
-- Name: gates; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.gates (
    key text NOT NULL COLLATE pg_catalog."C",
    max_concurrent integer,
    declared_concurrent integer,
    rate_count integer,
    rate_seconds double precision,
    declared_rate_count integer,
    declared_rate_seconds double precision,
    paused boolean DEFAULT false NOT NULL,
    closed_until timestamp with time zone,
    breaker_threshold double precision,
    breaker_volume integer DEFAULT 10 NOT NULL,
    breaker_window double precision DEFAULT 60 NOT NULL,
    breaker_seconds double precision DEFAULT 60 NOT NULL,
    declared_breaker_threshold double precision,
    declared_breaker_volume integer,
    declared_breaker_window double precision,
    declared_breaker_seconds double precision,
    breaker_state text DEFAULT 'closed'::text NOT NULL,
    breaker_changed_at timestamp with time zone,
    probe_task text COLLATE pg_catalog."C",
    probe_epoch integer,
    CONSTRAINT gates_breaker_seconds_check CHECK ((breaker_seconds > (0)::double precision)),
    CONSTRAINT gates_breaker_state_check CHECK ((breaker_state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text]))),
    CONSTRAINT gates_breaker_threshold_check CHECK (((breaker_threshold > (0)::double precision) AND (breaker_threshold <= (1)::double precision))),
    CONSTRAINT gates_breaker_volume_check CHECK ((breaker_volume > 0)),
    CONSTRAINT gates_breaker_window_check CHECK ((breaker_window > (0)::double precision)),
    CONSTRAINT gates_check CHECK (((rate_count IS NULL) = (rate_seconds IS NULL))),
    CONSTRAINT gates_declared_concurrent_check CHECK ((declared_concurrent >= 0)),
    CONSTRAINT gates_max_concurrent_check CHECK ((max_concurrent >= 0)),
    CONSTRAINT gates_rate_count_check CHECK ((rate_count > 0)),
    CONSTRAINT gates_rate_seconds_check CHECK ((rate_seconds > (0)::double precision))
);


--
-- Name: TABLE gates; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.gates IS 'A named condition that tasks must pass to start: how many at once, how fast, paused, closed, breaker.';


--
-- Name: COLUMN gates.key; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.key IS 'Such as provider:local, queue:media, tenant:acme, target:acme/site or actor:embedding.';


--
-- Name: COLUMN gates.max_concurrent; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.max_concurrent IS 'How many may run at once; NULL: any number. Follows declared_concurrent unless an operator has set another value.';


--
-- Name: COLUMN gates.declared_concurrent; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.declared_concurrent IS 'What the code declares. The other declared_ columns likewise.';


--
-- Name: COLUMN gates.rate_count; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.rate_count IS 'How many may start in rate_seconds; NULL: any number.';


--
-- Name: COLUMN gates.breaker_threshold; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.breaker_threshold IS 'The share of failures that opens the breaker; NULL: the gate has no breaker.';


--
-- Name: COLUMN gates.breaker_volume; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.breaker_volume IS 'The number of results below which the breaker stays closed.';


--
-- Name: COLUMN gates.breaker_window; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.breaker_window IS 'Seconds back in which results count.';


--
-- Name: COLUMN gates.breaker_seconds; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.breaker_seconds IS 'Seconds from open to half_open.';


--
-- Name: COLUMN gates.breaker_changed_at; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.breaker_changed_at IS 'Results before this moment do not count.';


--
-- Name: COLUMN gates.probe_task; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gates.probe_task IS 'The task that tries, with probe_epoch, whether the service is back while the breaker is half open.';


--
-- Name: follow_code(callboard.gates, callboard.gates); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.follow_code(g callboard.gates, said callboard.gates) RETURNS callboard.gates
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    IF g.max_concurrent IS NOT DISTINCT FROM g.declared_concurrent THEN
        g.max_concurrent := said.max_concurrent;
    END IF;
    g.declared_concurrent := said.max_concurrent;
    IF said.rate_count IS NOT NULL THEN
        IF (g.rate_count, g.rate_seconds) IS NOT DISTINCT FROM (g.declared_rate_count, g.declared_rate_seconds) THEN
            g.rate_count := said.rate_count;
            g.rate_seconds := said.rate_seconds;
        END IF;
        g.declared_rate_count := said.rate_count;
        g.declared_rate_seconds := said.rate_seconds;
    END IF;
    IF said.breaker_threshold IS NOT NULL THEN
        -- Without a threshold there is no breaker, whatever the other columns are.
        IF g.breaker_threshold IS NULL AND g.declared_breaker_threshold IS NULL
           OR (g.breaker_threshold, g.breaker_volume, g.breaker_window, g.breaker_seconds) IS NOT DISTINCT FROM
              (g.declared_breaker_threshold, g.declared_breaker_volume, g.declared_breaker_window, g.declared_breaker_seconds)
        THEN
            g.breaker_threshold := said.breaker_threshold;
            g.breaker_volume := said.breaker_volume;
            g.breaker_window := said.breaker_window;
            g.breaker_seconds := said.breaker_seconds;
        END IF;
        g.declared_breaker_threshold := said.breaker_threshold;
        g.declared_breaker_volume := said.breaker_volume;
        g.declared_breaker_window := said.breaker_window;
        g.declared_breaker_seconds := said.breaker_seconds;
    END IF;
    RETURN g;
END $$;


--
-- Name: gate_capacity(text, integer); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.gate_capacity(gate_key text, wanted integer, OUT room integer, OUT reason text, OUT places integer, OUT crowd text, OUT reserved_for text) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    g callboard.gates;
    since timestamptz;
    allowed integer;
    last_start bigint;
    held bigint;
    used integer;
BEGIN
    SELECT * INTO g FROM callboard.gates WHERE key = gate_key;
    room := 2147483647;
    places := 2147483647;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF g.breaker_threshold IS NOT NULL THEN
        g := callboard.judge_breaker(g);
    END IF;
    IF g.paused THEN
        room := 0; reason := 'paused';
    ELSIF g.closed_until > callboard.now() THEN
        room := 0; reason := 'closed until ' || to_char(g.closed_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
    ELSIF g.breaker_state = 'open' THEN
        room := 0; reason := 'circuit breaker open';
    ELSIF g.breaker_state = 'half_open' THEN
        room := CASE WHEN g.probe_task IS NULL THEN 1 ELSE 0 END;
        reason := 'circuit breaker half-open, one probe is under way';
    END IF;
    IF room > 0 AND g.rate_count IS NOT NULL THEN
        since := callboard.now() - make_interval(secs => g.rate_seconds);
        SELECT g.rate_count - count(*) INTO allowed FROM callboard.gate_starts s
        WHERE s.gate = gate_key AND s.n IS NULL AND s.at > since;
        SELECT s.n INTO last_start FROM callboard.gate_starts s
        WHERE s.gate = gate_key AND s.n IS NOT NULL ORDER BY s.n DESC LIMIT 1;
        last_start := coalesce(last_start, 0);
        -- The next start is free when the start that is `allowed` starts before it has left the window, and so on.
        SELECT s.n INTO held FROM callboard.gate_starts s
        WHERE s.gate = gate_key AND s.n > last_start - allowed AND s.n <= last_start - allowed + least(wanted, allowed)
          AND s.at > since
        ORDER BY s.n LIMIT 1;
        allowed := least(allowed, coalesce(held - (last_start - allowed) - 1, allowed));
        IF allowed < room THEN
            room := greatest(allowed, 0);
            reason := format('at most %s starts in %s s', g.rate_count, g.rate_seconds);
        END IF;
    END IF;
    IF g.max_concurrent IS NOT NULL THEN
        SELECT count(*) INTO used FROM callboard.slots s WHERE s.gate = gate_key AND s.epoch > 0;
        SELECT r.task_id INTO reserved_for FROM callboard.reservations r
        WHERE r.gate = gate_key AND r.expires_at > callboard.now();
        places := g.max_concurrent - used - (reserved_for IS NOT NULL)::integer;
        crowd := format('%s of %s running', used, g.max_concurrent)
            || CASE WHEN reserved_for IS NULL THEN '' ELSE ', a place is reserved' END;
    END IF;
END $$;


--
-- Name: gate_counts(callboard.gates); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.gate_counts(g callboard.gates) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT g.max_concurrent IS NOT NULL OR g.rate_count IS NOT NULL OR g.breaker_threshold IS NOT NULL $$;


--
-- Name: gate_lock(text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.gate_lock(gate_key text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT hashtextextended(gate_key, 7) $$;


--
-- Name: guard_births(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.guard_births() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status = ANY (ARRAY['scheduled', 'queued', 'waiting']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'task % cannot begin as %', NEW.id, NEW.status USING ERRCODE = 'CB001';
END $$;


--
-- Name: judge_breaker(callboard.gates); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.judge_breaker(g callboard.gates) RETURNS callboard.gates
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    since timestamptz;
    failures integer;
    results integer;
    probe_failed boolean;
    before text := g.breaker_state;
    had_probe text := g.probe_task;
BEGIN
    IF g.breaker_state = 'closed' THEN
        since := greatest(callboard.now() - make_interval(secs => g.breaker_window),
                          coalesce(g.breaker_changed_at, '-infinity'));
        IF EXISTS (SELECT FROM callboard.gate_results r WHERE r.gate = g.key AND r.failed AND r.at > since) THEN
            SELECT count(*), count(*) FILTER (WHERE r.failed) INTO results, failures
            FROM (SELECT r.failed FROM callboard.gate_results r
                  WHERE r.gate = g.key AND r.at > since
                  ORDER BY r.at DESC LIMIT greatest(g.breaker_volume, 1000)) AS r;
            IF results >= g.breaker_volume AND failures >= g.breaker_threshold * results THEN
                g.breaker_state := 'open';
            END IF;
        END IF;
    ELSIF g.breaker_state = 'open' THEN
        IF callboard.now() >= g.breaker_changed_at + make_interval(secs => g.breaker_seconds) THEN
            g.breaker_state := 'half_open';
        END IF;
    ELSIF g.probe_task IS NOT NULL THEN
        SELECT r.failed INTO probe_failed FROM callboard.gate_results r
        WHERE r.gate = g.key AND r.at >= g.breaker_changed_at
          AND r.task_id = g.probe_task AND r.epoch = g.probe_epoch;
        IF probe_failed IS NOT NULL THEN
            g.breaker_state := CASE WHEN probe_failed THEN 'open' ELSE 'closed' END;
        END IF;
        IF probe_failed IS NOT NULL OR NOT EXISTS (
            SELECT FROM callboard.leases l WHERE l.task_id = g.probe_task AND l.epoch = g.probe_epoch) THEN
            g.probe_task := NULL;
            g.probe_epoch := NULL;
        END IF;
    END IF;
    IF g.breaker_state <> before THEN
        g.breaker_changed_at := callboard.now();
    END IF;
    IF g.breaker_state <> before OR g.probe_task IS DISTINCT FROM had_probe THEN
        UPDATE callboard.gates
        SET breaker_state = g.breaker_state, breaker_changed_at = g.breaker_changed_at,
            probe_task = g.probe_task, probe_epoch = g.probe_epoch
        WHERE key = g.key;
    END IF;
    RETURN g;
END $$;


--
-- Name: line_at(text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.line_at(its_gates text[]) RETURNS text
    LANGUAGE plpgsql STABLE STRICT
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    RETURN (SELECT t.waiting_gate FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = ANY (its_gates) LIMIT 1);
END $$;


--
-- Name: lines_after(text, integer); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.lines_after(after_key text, most integer) RETURNS TABLE(key text)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    key := after_key;
    FOR place IN 1..most LOOP
        SELECT t.waiting_gate INTO key FROM callboard.tasks t
        WHERE t.status = 'waiting' AND t.waiting_gate > lines_after.key
        ORDER BY t.waiting_gate LIMIT 1;
        EXIT WHEN key IS NULL;
        RETURN NEXT;
    END LOOP;
END $$;


--
-- Name: lock_gate(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.lock_gate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF callboard.gate_counts(OLD) OR NOT callboard.gate_counts(NEW) THEN
            RETURN NEW;
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock(callboard.gate_lock(NEW.key));
    RETURN NEW;
END $$;


--
-- Name: lock_gates(text[], integer[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.lock_gates(keys text[], limits integer[]) RETURNS text[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    missing record;
    counting text[];
    busy text[] := '{}';
BEGIN
    FOR missing IN
        SELECT m.key, m.declared FROM unnest(keys, limits) AS m (key, declared)
        WHERE m.declared IS NOT NULL AND NOT EXISTS (SELECT FROM callboard.gates g WHERE g.key = m.key)
    LOOP
        -- Every session that inserts a gate holds its key: an insert that is not committed yet is not waited for.
        IF pg_try_advisory_xact_lock(callboard.gate_lock(missing.key)) THEN
            INSERT INTO callboard.gates (key, declared_concurrent, max_concurrent)
            VALUES (missing.key, missing.declared, missing.declared)
            ON CONFLICT (key) DO NOTHING;
        ELSE
            busy := busy || missing.key;
        END IF;
    END LOOP;
    SELECT coalesce(array_agg(l.key), '{}') INTO counting FROM (
        SELECT g.key FROM callboard.gates g
        WHERE g.key = ANY (keys) AND callboard.gate_counts(g)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS l;
    SELECT busy || coalesce(array_agg(k.key) FILTER (WHERE NOT k.locked), '{}') INTO busy FROM (
        SELECT key, CASE
            WHEN key LIKE 'target:%' THEN pg_try_advisory_xact_lock(callboard.gate_lock(key))
            WHEN key = ANY (counting) THEN true
            ELSE pg_try_advisory_xact_lock_shared(callboard.gate_lock(key)) END AS locked
        FROM unnest(keys) AS key
        OFFSET 0
    ) AS k;
    -- A new statement, which sees everything that was committed before the keys were locked: a gate may count by now.
    SELECT busy || coalesce(array_agg(g.key), '{}') INTO busy FROM callboard.gates g
    WHERE g.key = ANY (keys) AND callboard.gate_counts(g) AND g.key <> ALL (counting);
    RETURN busy;
END $$;


--
-- Name: may_move(text, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.may_move(before text, after text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN before || '>' || after = ANY (ARRAY['scheduled>queued', 'scheduled>paused', 'scheduled>canceled', 'scheduled>dead', 'queued>waiting', 'queued>running', 'queued>paused', 'queued>canceled', 'queued>dead', 'waiting>queued', 'waiting>paused', 'waiting>canceled', 'waiting>dead', 'running>scheduled', 'running>queued', 'running>paused', 'running>completed', 'running>canceled', 'running>dead', 'paused>queued', 'paused>canceled', 'dead>queued', 'dead>canceled']);
END $$;


--
-- Name: now(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.now() RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$SELECT statement_timestamp()$$;


--
-- Name: FUNCTION now(); Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON FUNCTION callboard.now() IS 'The clock of everything here; tests replace it.';


--
-- Name: park_behind(text[], text[], text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.park_behind(full_gates text[], queue_names text[], but_not text[]) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    heads record;
BEGIN
    SELECT array_agg(h.id) AS ids, array_agg(h.last_event) AS events, array_agg(h.gate) AS gates
    INTO heads
    FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
         LATERAL (
            SELECT t.id, t.last_event,
                   CASE WHEN t.gates && full_gates AND t.id <> ALL (but_not)
                        THEN (SELECT k FROM unnest(t.gates) AS k WHERE k = ANY (full_gates) LIMIT 1) END AS gate
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND t.woken_for IS NULL
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.gate IS NOT NULL;
    IF heads.ids IS NULL THEN
        RETURN 0;
    END IF;
    RETURN callboard.park_tasks(heads.ids, heads.events, heads.gates, 'others stand in line before it');
END $$;


--
-- Name: park_tasks(text[], integer[], text[], text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.park_tasks(task_ids text[], seen_events integer[], gate_keys text[], why text) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    parked integer;
    -- A variable, for rows that are looked up by id: with a constant the planner might scan an index of all queued
    -- tasks.
    in_queue constant text := 'queued';
BEGIN
    WITH mine AS MATERIALIZED (
        SELECT t.id, p.gate
        FROM unnest(task_ids, seen_events, gate_keys) AS p (id, last_event, gate), LATERAL (
            SELECT t.id FROM callboard.tasks t
            WHERE t.id = p.id AND t.last_event = p.last_event AND t.status = in_queue
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS t
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'waiting', waiting_gate = b.gate, waiting_reason = why, woken_for = NULL, woken_at = NULL, last_event = t.last_event + 1, updated_at = callboard.now()
        FROM mine b
        WHERE t.id = b.id
        RETURNING t.id, t.last_event, t.waiting_gate, t.waiting_reason
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_build_object(
            'from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate, 'reason', m.waiting_reason)
        FROM moved m
    )
    SELECT count(*) INTO parked FROM moved;
    RETURN parked;
END $$;


--
-- Name: park_unknown(text[], text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.park_unknown(unknown_actors text[], queue_names text[]) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    heads record;
BEGIN
    SELECT array_agg(h.id) AS ids, array_agg(h.last_event) AS events, array_agg('actor:' || h.actor) AS gates
    INTO heads
    FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
         LATERAL (
            SELECT t.id, t.last_event, t.actor
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.actor = ANY (ARRAY(
        SELECT a FROM unnest(unknown_actors) AS a WHERE NOT callboard.actor_is_known(a, q.queue)));
    IF heads.ids IS NULL THEN
        RETURN 0;
    END IF;
    RETURN callboard.park_tasks(heads.ids, heads.events, heads.gates, 'no worker knows this actor');
END $$;


--
-- Name: pass_gates(text[], integer); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.pass_gates(candidates text[], wanted integer, OUT taken text[], OUT closed text[], OUT to_wake text[], OUT contended boolean) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    keys text[];
    limits integer[];
    -- For each of the keys, see gate_capacity: how many may still start, and the reason if none may.
    rooms integer[];
    reasons text[];
    places integer[];
    crowds text[];                  -- NULL: the gate has no limit
    reserved_for text[];
    task record;
    gate record;
    gate_key text;
    place integer;
    stopped_at text;
    reason text;
    crowded boolean;
    passed text[];
    parked_ids text[] := '{}';
    parked_gates text[] := '{}';
    parked_reasons text[] := '{}';
    parked_bounces integer[] := '{}';
BEGIN
    taken := '{}'; closed := '{}'; to_wake := '{}';
    SELECT array_agg(d.key), array_agg(d.declared), array_agg(2147483647), array_agg(2147483647)
    INTO keys, limits, rooms, places
    FROM (SELECT k.key, min(k.declared) AS declared
          FROM callboard.tasks t, unnest(t.gates, t.gate_limits) AS k (key, declared)
          WHERE t.id = ANY (candidates) AND k.key IS NOT NULL GROUP BY k.key) AS d;
    closed := callboard.lock_gates(keys, limits);
    contended := cardinality(closed) > 0;
    FOR gate IN  -- a new statement, after the locks
        SELECT k.place, r.* FROM unnest(keys) WITH ORDINALITY AS k (key, place)
        JOIN callboard.gates g ON g.key = k.key, LATERAL callboard.gate_capacity(k.key, wanted) AS r
        WHERE k.key <> ALL (closed) AND (callboard.gate_counts(g) OR g.paused OR g.closed_until > callboard.now())
    LOOP
        rooms[gate.place] := gate.room;
        reasons[gate.place] := gate.reason;
        places[gate.place] := gate.places;
        crowds[gate.place] := gate.crowd;
        reserved_for[gate.place] := gate.reserved_for;
    END LOOP;

    FOR task IN
        SELECT t.id, t.gates, t.tenant, t.target, t.created_at, t.available_at, t.woken_for, t.bounces
        FROM unnest(candidates) WITH ORDINALITY AS c (id, place) JOIN callboard.tasks t ON t.id = c.id
        ORDER BY c.place
    LOOP
        EXIT WHEN cardinality(taken) >= wanted;
        stopped_at := NULL; reason := NULL; crowded := false; passed := '{}';
        FOREACH gate_key IN ARRAY task.gates LOOP
            place := array_position(keys, gate_key);
            IF gate_key = ANY (closed) THEN
                stopped_at := gate_key;
            ELSIF rooms[place] <= 0 THEN
                stopped_at := gate_key; reason := reasons[place];
            ELSIF places[place] + (reserved_for[place] IS NOT DISTINCT FROM task.id)::integer <= 0 THEN
                stopped_at := gate_key; reason := crowds[place]; crowded := true;
            ELSIF gate_key LIKE 'target:%' THEN
                IF EXISTS (SELECT FROM callboard.slots s WHERE s.gate = gate_key) THEN
                    stopped_at := gate_key; reason := 'another task of this target is running';
                ELSIF NOT callboard.target_turn(task.tenant, task.target, task.created_at, task.id) THEN
                    stopped_at := gate_key; reason := 'an earlier task of this target is unfinished';
                END IF;
            END IF;
            EXIT WHEN stopped_at IS NOT NULL;
            passed := passed || gate_key;
        END LOOP;
        IF stopped_at IS NULL THEN
            taken := taken || task.id;
            FOREACH gate_key IN ARRAY task.gates LOOP
                place := array_position(keys, gate_key);
                rooms[place] := rooms[place] - 1;
                IF gate_key LIKE 'target:%' THEN
                    rooms[place] := 0;
                    reasons[place] := 'another task of this target is running';
                END IF;
                IF reserved_for[place] IS NOT DISTINCT FROM task.id THEN
                    reserved_for[place] := NULL;  -- the task takes the place that was reserved for it
                ELSE
                    places[place] := places[place] - 1;
                END IF;
            END LOOP;
        ELSIF reason IS NOT NULL THEN
            parked_ids := parked_ids || task.id;
            parked_gates := parked_gates || stopped_at;
            parked_reasons := parked_reasons || reason;
            parked_bounces := parked_bounces || (task.bounces + (task.woken_for IS NOT NULL)::integer);
            IF task.woken_for IS NOT NULL AND task.woken_for <> stopped_at THEN
                to_wake := to_wake || task.woken_for;  -- the task has not used its turn there: the next in that line may
            END IF;
            -- A task with several gates would starve behind streams of others. After several bounces, and after some
            -- time, places at the gates that it has passed are kept for it, but only if a limit and nothing else has
            -- stopped it.
            crowded := crowded AND task.bounces >= 3 AND task.available_at < callboard.now() - interval '2 seconds';
            FOREACH gate_key IN ARRAY task.gates LOOP
                place := array_position(keys, gate_key);
                IF crowded AND gate_key = ANY (passed) THEN
                    IF crowds[place] IS NOT NULL AND reserved_for[place] IS NULL
                       AND callboard.reserve(gate_key, task.id) THEN
                        reserved_for[place] := task.id;
                        places[place] := places[place] - 1;
                    END IF;
                ELSIF reserved_for[place] = task.id THEN
                    DELETE FROM callboard.reservations r WHERE r.gate = gate_key;
                    reserved_for[place] := NULL;
                    places[place] := places[place] + 1;
                END IF;
            END LOOP;
        END IF;
    END LOOP;

    SELECT closed || coalesce(array_agg(g.key), '{}') INTO closed FROM unnest(keys, rooms, places) AS g (key, room, places)
    WHERE g.room <= 0 OR g.places <= 0;
    IF cardinality(taken) > 0 THEN
        PERFORM callboard.enter_gates(taken);
    END IF;
    IF cardinality(parked_ids) > 0 THEN
        WITH moved AS (
            UPDATE callboard.tasks t
            SET status = 'waiting', waiting_gate = p.gate, waiting_reason = p.reason, woken_for = NULL, woken_at = NULL,
                bounces = p.bounces, last_event = t.last_event + 1, updated_at = callboard.now()
            FROM unnest(parked_ids, parked_gates, parked_reasons, parked_bounces) AS p (id, gate, reason, bounces)
            WHERE t.id = p.id
            RETURNING t.id, t.last_event, t.waiting_gate, t.waiting_reason
        )
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_build_object(
            'from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate, 'reason', m.waiting_reason)
        FROM moved m;
    END IF;
END $$;


--
-- Name: plain_lock(text, uuid); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.plain_lock(queue_name text, message_id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT ('x' || substr(encode(sha256(convert_to(queue_name || message_id::text, 'UTF8')), 'hex'), 25, 16))::bit(64)::bigint
           # x'8000000000000000'::bit(64)::bigint
$$;


--
-- Name: refuse_move(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.refuse_move() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'illegal transition of task %: % -> %', NEW.id, OLD.status, NEW.status USING ERRCODE = 'CB001';
END $$;


--
-- Name: report(jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.report(reports jsonb) RETURNS TABLE(id text, epoch integer)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY SELECT r.id, r.epoch FROM callboard.report(NULL, reports, true) AS r WHERE NOT r.busy;
END $$;


--
-- Name: report(text, jsonb, boolean); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.report(worker text, reports jsonb, wait boolean) RETURNS TABLE(id text, epoch integer, busy boolean)
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    owned integer;
BEGIN
    IF wait THEN
        PERFORM FROM jsonb_to_recordset(reports) AS i (id text COLLATE "C", epoch integer), LATERAL (
            SELECT FROM callboard.tasks t WHERE t.id = i.id AND t.epoch = i.epoch FOR NO KEY UPDATE) AS locked;
    END IF;
    RETURN QUERY
    WITH input AS (
        SELECT i.*, jsonb_array_length(i.events) AS added FROM jsonb_to_recordset(reports) AS i (
            id text COLLATE "C", epoch integer, number integer, progress jsonb, tokens bigint, cost numeric, events jsonb)
    ), mine AS MATERIALIZED (
        SELECT i.*, t.reports
        FROM input i, LATERAL (
            SELECT t.reports FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
              AND (report.worker IS NULL OR t.worker_id = report.worker)
            FOR NO KEY UPDATE SKIP LOCKED
        ) t
    ), noted AS (
        UPDATE callboard.tasks t
        SET progress = coalesce(i.progress || jsonb_build_object('updated_at', callboard.now()), t.progress),
            tokens = t.tokens + i.tokens,
            cost = t.cost + i.cost,
            last_event = t.last_event + i.added,
            reports = i.number,
            updated_at = callboard.now()
        FROM mine i
        WHERE t.id = i.id AND i.number > i.reports
        RETURNING t.id, t.last_event - i.added AS before, i.events
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
        SELECT n.id, n.before + e.place, e.event ->> 'kind', callboard.now(), e.event -> 'data'
        FROM noted n, jsonb_array_elements(n.events) WITH ORDINALITY AS e (event, place)
    )
    SELECT m.id, m.epoch, false FROM mine m;
    GET DIAGNOSTICS owned = ROW_COUNT;
    IF owned < jsonb_array_length(reports) THEN
        -- Those that were returned above come again here; the caller ignores that.
        RETURN QUERY
        SELECT i.id, i.epoch, true
        FROM jsonb_to_recordset(reports) AS i (id text COLLATE "C", epoch integer)
        JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
        WHERE t.status = 'running' AND (report.worker IS NULL OR t.worker_id = report.worker);
    END IF;
END $$;


--
-- Name: reserve(text, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.reserve(gate_key text, for_task text) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    there callboard.reservations;
    until timestamptz := callboard.now() + interval '30 seconds';
BEGIN
    SELECT * INTO there FROM callboard.reservations r WHERE r.gate = gate_key FOR UPDATE SKIP LOCKED;
    IF FOUND AND there.expires_at <= callboard.now() THEN
        UPDATE callboard.reservations r SET task_id = for_task, expires_at = until WHERE r.gate = gate_key;
        RETURN true;
    ELSIF NOT EXISTS (SELECT FROM callboard.reservations r WHERE r.gate = gate_key) THEN
        INSERT INTO callboard.reservations (gate, task_id, expires_at) VALUES (gate_key, for_task, until);
        RETURN true;
    END IF;
    RETURN false;
END $$;


--
-- Name: revive(text[], text, jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.revive(ids text[], why text, edited jsonb DEFAULT NULL::jsonb) RETURNS TABLE(id text, epoch integer, actor text, queue text, before text, status text, gates text[])
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.id, r.epoch, r.actor, r.queue, r.before, r.status, r.gates
    FROM callboard.revive_tasks(ids, why, edited, NULL) AS r WHERE r.holder IS NULL;
END $$;


--
-- Name: revive_tasks(text[], text, jsonb, jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.revive_tasks(ids text[], why text, edited jsonb, wanted jsonb) RETURNS TABLE(id text, epoch integer, actor text, queue text, before text, status text, gates text[], dedup_key text, holder text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    keyed record;
    its_holder text;
    with_key text[] := '{}';
    locked text[];
BEGIN
    FOR keyed IN
        SELECT t.id, t.epoch, t.actor, t.queue, t.gates, t.tenant, t.dedup_key,
               -- Of several tasks with one key the first gets it, and holds it although it is not queued yet.
               row_number() OVER (PARTITION BY coalesce(t.tenant, ''), t.actor, t.dedup_key ORDER BY t.id) = 1 AS first
        FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.dedup_key IS NOT NULL AND t.hidden_at IS NULL
          AND (wanted IS NULL OR callboard.dead_letter_fits(t, wanted))
        ORDER BY coalesce(t.tenant, '') COLLATE "C", t.actor COLLATE "C", t.dedup_key COLLATE "C", t.id
    LOOP
        IF keyed.first THEN
            its_holder := callboard.take_dedup_key(keyed.tenant, keyed.actor, keyed.dedup_key, keyed.id, NULL);
        END IF;
        IF its_holder = keyed.id THEN
            with_key := with_key || keyed.id;
        ELSE
            RETURN QUERY SELECT keyed.id, keyed.epoch, keyed.actor, keyed.queue, 'dead', 'dead', keyed.gates,
                                keyed.dedup_key, its_holder;
        END IF;
    END LOOP;
    IF wanted IS NULL THEN
        locked := ARRAY(SELECT t.id FROM callboard.tasks t
                        WHERE t.id = ANY (ids) AND (t.status = 'dead' OR t.status = 'scheduled' AND t.lane = 'retry')
                        ORDER BY t.id FOR NO KEY UPDATE);
    ELSE
        locked := ARRAY(SELECT t.id FROM callboard.tasks t
                        WHERE t.id = ANY (ids) AND t.status = 'dead' AND callboard.dead_letter_fits(t, wanted)
                        ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id, t.status, t.payload, t.checkpoint, t.gates, t.queue, t.priority, t.tenant,
               row_number() OVER (PARTITION BY t.queue, t.priority, t.tenant ORDER BY t.id) - 1 AS follower
        FROM callboard.tasks t
        WHERE t.id = ANY (locked) AND t.hidden_at IS NULL
          AND (t.status = 'dead' AND (t.dedup_key IS NULL OR t.id = ANY (with_key))
               OR t.status = 'scheduled' AND t.lane = 'retry')
    ), firsts AS MATERIALIZED (
        SELECT m.queue, m.priority, m.tenant, callboard.entry_rank(m.queue, 'retry', m.priority, m.tenant) AS rank
        FROM mine m WHERE m.follower = 0
    ), ranked AS MATERIALIZED (
        SELECT m.*, CASE WHEN m.follower = 0 THEN f.rank ELSE (f.rank / 2 + m.follower) * 2 + 1 END AS rank
        FROM mine m JOIN firsts f
             ON f.queue = m.queue AND f.priority = m.priority AND f.tenant IS NOT DISTINCT FROM m.tenant
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'queued',
            lane = 'retry',
            rank = m.rank,
            payload = coalesce(edited -> 'payload', t.payload),
            checkpoint = CASE WHEN edited IS NULL THEN t.checkpoint ELSE '{}' END,
            gates = CASE WHEN edited IS NULL THEN t.gates
                         ELSE ARRAY(SELECT jsonb_array_elements_text(edited -> 'gates')) END,
            gate_limits = CASE WHEN edited IS NULL THEN t.gate_limits
                               ELSE ARRAY(SELECT l::integer FROM jsonb_array_elements_text(edited -> 'gate_limits') AS l) END,
            max_attempts = CASE WHEN m.status = 'dead' THEN t.attempt + t.max_attempts - t.attempts_before
                                ELSE t.max_attempts END,
            attempts_before = CASE WHEN m.status = 'dead' THEN t.attempt ELSE t.attempts_before END,
            available_at = callboard.now(),
            expires_at = CASE WHEN m.status = 'dead' THEN callboard.now() + make_interval(secs => t.max_age)
                              ELSE t.expires_at END,
            finished_at = NULL,
            progress = NULL,
            waiting_gate = NULL, waiting_reason = NULL, woken_for = NULL, woken_at = NULL, bounces = 0,
            last_event = t.last_event + CASE WHEN edited IS NULL THEN 1 ELSE 2 END,
            updated_at = callboard.now()
        FROM ranked m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, m.gates, t.status, t.last_event, m.status AS before, t.dedup_key,
                  m.payload AS old_payload, t.payload, m.checkpoint
    ), noted AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
        SELECT m.id, m.last_event - 1, 'payload', callboard.now(),
               jsonb_build_object('before', m.old_payload, 'after', m.payload, 'checkpoint', m.checkpoint)
        FROM moved m WHERE edited IS NOT NULL
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_build_object('from', m.before, 'to', m.status, 'reason', why) FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.before, m.status, m.gates, m.dedup_key, NULL FROM moved m;
END $$;


--
-- Name: settle(jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.settle(outcomes jsonb) RETURNS TABLE(id text, epoch integer, actor text, queue text, status text, gates text[])
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY SELECT s.id, s.epoch, s.actor, s.queue, s.status, s.gates
    FROM callboard.settle(NULL, outcomes, true) AS s WHERE NOT s.busy;
END $$;


--
-- Name: settle(text, jsonb, boolean); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.settle(worker text, outcomes jsonb, wait boolean) RETURNS TABLE(id text, epoch integer, actor text, queue text, status text, gates text[], busy boolean)
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    settled integer;
BEGIN
    IF wait THEN
        PERFORM FROM jsonb_to_recordset(outcomes) AS i (id text COLLATE "C", epoch integer), LATERAL (
            SELECT FROM callboard.tasks t WHERE t.id = i.id AND t.epoch = i.epoch FOR NO KEY UPDATE) AS locked;
    END IF;
    RETURN QUERY
    WITH input AS (
        SELECT i.* FROM jsonb_to_recordset(outcomes) AS i (
            id text COLLATE "C", epoch integer, outcome text, result jsonb, error jsonb, retry_seconds double precision)
    ), mine AS MATERIALIZED (
        SELECT t.*, i.outcome, i.result, i.error, coalesce(i.retry_seconds, 0) AS retry_seconds,
               CASE
                   WHEN i.outcome = 'completed' THEN 'completed'
                   WHEN t.cancel_requested IN ('cancel', 'force') THEN 'canceled'
                   -- A permanent failure, or the last one, is not undone by a pause.
                   WHEN t.cancel_requested = 'pause'
                        AND (i.outcome = 'released' OR i.retry_seconds IS NOT NULL AND u.used < t.max_attempts)
                        THEN 'paused'
                   WHEN i.outcome = 'released' THEN 'queued'
                   WHEN i.outcome = 'failed' AND i.retry_seconds IS NOT NULL AND u.used < t.max_attempts
                        AND (t.expires_at IS NULL
                             OR callboard.now() + make_interval(secs => i.retry_seconds) < t.expires_at)
                        THEN 'scheduled'
                   ELSE 'dead'
               END AS next,
               u.used
        FROM input i, LATERAL (
            SELECT t.id, t.cancel_requested, t.attempt, t.max_attempts, t.expires_at, t.worker_id, t.started_at, t.gates
            FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
              AND (settle.worker IS NULL OR t.worker_id = settle.worker)
            FOR NO KEY UPDATE SKIP LOCKED
        ) t, LATERAL (
            -- A probe tries the service for all tasks: its failure costs it no attempt, not even the last one.
            SELECT t.attempt - (i.outcome = 'failed' AND t.gates <> '{}' AND EXISTS (
                SELECT FROM callboard.gates g
                WHERE g.key = ANY (t.gates) AND g.probe_task = t.id AND g.probe_epoch = i.epoch))::integer AS used
        ) u
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = m.next,
            result = CASE WHEN m.next = 'completed' THEN m.result END,
            error = CASE m.outcome WHEN 'failed' THEN m.error WHEN 'completed' THEN NULL ELSE t.error END,
            attempt = CASE WHEN m.outcome = 'released' AND m.next <> 'canceled' THEN t.attempt - 1 ELSE m.used END,
            lane = CASE WHEN m.outcome = 'failed' THEN 'retry' ELSE t.lane END,
            available_at = CASE WHEN m.next = 'scheduled'
                THEN callboard.now() + make_interval(secs => m.retry_seconds) ELSE t.available_at END,
            finished_at = CASE WHEN m.next IN ('completed', 'canceled', 'dead') THEN callboard.now() END,
            progress = CASE
                WHEN m.next = 'completed' THEN jsonb_build_object(
                    'percent', 100, 'message', 'Completed', 'updated_at', callboard.now(), 'elapsed_ms',
                    floor(extract(epoch FROM callboard.now() - t.started_at) * 1000)::bigint)
                WHEN m.next IN ('queued', 'scheduled') THEN NULL
                ELSE t.progress END,
            worker_id = NULL,
            cancel_requested = NULL,
            last_event = t.last_event + 1, updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.status, t.last_event, t.attempt, t.available_at, m.outcome, m.error, m.worker_id, m.started_at,
                  m.attempt AS nth, CASE WHEN m.next IN ('canceled', 'paused') THEN m.next ELSE m.outcome END AS ended_as
    ), freed AS (
DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
), ended AS (
INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
SELECT m.id, m.epoch, m.nth, m.worker_id, m.ended_as, m.error, m.started_at, callboard.now()
FROM moved m
), judged AS (
        -- Only results that say something about the service count for its breaker.
        INSERT INTO callboard.gate_results (gate, task_id, epoch, failed, at)
        SELECT g.key, m.id, m.epoch, m.outcome = 'failed', callboard.now()
        FROM moved m, unnest(m.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
        WHERE g.breaker_threshold IS NOT NULL
          AND (m.outcome = 'completed'
               OR m.outcome = 'failed' AND m.error ->> 'type' IN ('ServiceUnavailable', 'ServerError', 'NetworkTimeout'))
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_strip_nulls(jsonb_build_object(
            'from', 'running', 'to', m.status, 'attempt', m.attempt,
            'reason', CASE WHEN m.status = 'queued' THEN 'released' END,
            'available_at', CASE WHEN m.status = 'scheduled' THEN m.available_at END,
            'error', m.error - 'traceback'))
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.status, m.gates, false FROM moved m;
    GET DIAGNOSTICS settled = ROW_COUNT;
    IF settled < jsonb_array_length(outcomes) THEN
        RETURN QUERY
        SELECT i.id, i.epoch, NULL, NULL, NULL, NULL::text[], true
        FROM jsonb_to_recordset(outcomes) AS i (id text COLLATE "C", epoch integer)
        JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
        WHERE t.status = 'running' AND (settle.worker IS NULL OR t.worker_id = settle.worker);
    END IF;
END $$;


--
-- Name: take_dedup_key(text, text, text, text, double precision); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.take_dedup_key(its_tenant text, its_actor text, its_key text, its_id text, its_ttl double precision) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    held record;
BEGIN
    LOOP
        INSERT INTO callboard.dedup (tenant, actor, key, task_id, until, ttl)
        VALUES (coalesce(its_tenant, ''), its_actor, its_key, its_id,
                callboard.now() + make_interval(secs => coalesce(its_ttl, 86400)), its_ttl)
        ON CONFLICT (tenant, actor, key) DO NOTHING;
        IF FOUND THEN
            RETURN its_id;
        END IF;
        SELECT d.task_id, d.until INTO held FROM callboard.dedup d
        WHERE d.tenant = coalesce(its_tenant, '') AND d.actor = its_actor AND d.key = its_key
        FOR UPDATE;
        EXIT WHEN FOUND;  -- otherwise the sweep has deleted it meanwhile
    END LOOP;
    IF held.task_id <> its_id AND held.until > callboard.now() AND EXISTS (
        SELECT FROM callboard.tasks t
        WHERE t.id = held.task_id AND t.status NOT IN ('completed', 'canceled', 'dead')
    ) THEN
        RETURN held.task_id;
    END IF;
    UPDATE callboard.dedup d
    SET task_id = its_id, ttl = coalesce(its_ttl, d.ttl),
        until = callboard.now() + make_interval(secs => coalesce(its_ttl, d.ttl, 86400))
    WHERE d.tenant = coalesce(its_tenant, '') AND d.actor = its_actor AND d.key = its_key;
    RETURN its_id;
END $$;


--
-- Name: take_dedup_keys(jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.take_dedup_keys(asked jsonb) RETURNS TABLE(id text, holder text, known boolean)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    wanted record;
BEGIN
    FOR wanted IN
        SELECT w.* FROM jsonb_to_recordset(asked) AS w (
            id text, tenant text, actor text, dedup_key text, dedup_ttl_seconds double precision)
        ORDER BY coalesce(w.tenant, '') COLLATE "C", w.actor COLLATE "C", w.dedup_key COLLATE "C"
    LOOP
        id := wanted.id;
        holder := callboard.take_dedup_key(
            wanted.tenant, wanted.actor, wanted.dedup_key, wanted.id, wanted.dedup_ttl_seconds);
        known := EXISTS (SELECT FROM callboard.tasks t WHERE t.id = wanted.id);
        IF known THEN
            holder := wanted.id;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;


--
-- Name: take_slots(text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.take_slots(started text[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT DISTINCT k.key, t.id, t.epoch
    FROM callboard.tasks t, unnest(t.gates) AS k (key)
    WHERE t.id = ANY (started) AND t.status = 'running'
    ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch;
END $$;


--
-- Name: target_turn(text, text, timestamp with time zone, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.target_turn(its_tenant text, its_target text, its_created timestamp with time zone, its_id text) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM callboard.tasks e
        WHERE coalesce(e.tenant, '') = coalesce(its_tenant, '') AND e.target = its_target
          AND e.status NOT IN ('completed', 'canceled') AND e.hidden_at IS NULL AND (e.created_at, e.id) < (its_created, its_id));
END $$;


--
-- Name: wake(text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.wake(gate_keys text[]) RETURNS TABLE(id text, queue text)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    SELECT w.id, w.queue
    FROM (SELECT DISTINCT k.key COLLATE "C" AS key FROM unnest(gate_keys) AS k (key) ORDER BY 1) AS g,
         LATERAL callboard.wake_gate(g.key) AS w
    WHERE NOT w.busy;
END $$;


--
-- Name: wake_gate(text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.wake_gate(gate_key text) RETURNS TABLE(id text, queue text, busy boolean)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    head record;
    only_task text;
    room integer := 1000;
    -- A variable, for a row that is looked up by id: with a constant the planner might scan the index of the line.
    in_line constant text := 'waiting';
BEGIN
    SELECT t.actor, t.queue, t.tenant, t.target INTO head FROM callboard.tasks t
    WHERE t.status = 'waiting' AND t.waiting_gate = gate_key
    ORDER BY t.priority, t.rank, t.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF gate_key LIKE 'actor:%' THEN
        IF NOT callboard.actor_is_known(head.actor, head.queue) THEN
            RETURN;
        END IF;
    ELSE
        PERFORM FROM callboard.gates g WHERE g.key = gate_key FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND AND EXISTS (SELECT FROM callboard.gates g WHERE g.key = gate_key)
           OR gate_key LIKE 'target:%' AND NOT pg_try_advisory_xact_lock(callboard.gate_lock(gate_key)) THEN
            RETURN QUERY SELECT NULL, NULL, true;
            RETURN;
        END IF;
        SELECT least(r.room, r.places, 1000) INTO room FROM callboard.gate_capacity(gate_key, 1000) AS r;
        -- Tasks that were woken a moment ago have not taken their slots yet. After two seconds they are not counted.
        IF room < 1000 THEN
            SELECT room - count(*) INTO room FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.woken_for = gate_key AND t.woken_at > callboard.now() - interval '2 seconds';
        END IF;
    END IF;
    IF gate_key LIKE 'target:%' THEN
        -- Only the first of the target's unfinished tasks can be next, and only if none of them runs.
        SELECT f.id INTO only_task FROM (
            SELECT t.id, t.status, t.waiting_gate FROM callboard.tasks t
            WHERE coalesce(t.tenant, '') = coalesce(head.tenant, '') AND t.target = head.target
              AND t.status NOT IN ('completed', 'canceled') AND t.hidden_at IS NULL
            ORDER BY t.created_at, t.id LIMIT 1
        ) AS f
        WHERE f.status = 'waiting' AND f.waiting_gate = gate_key
          AND NOT EXISTS (SELECT FROM callboard.slots s WHERE s.gate = gate_key);
        room := CASE WHEN only_task IS NULL THEN 0 ELSE least(room, 1) END;
    END IF;
    IF room <= 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH best AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.status = 'waiting' AND t.waiting_gate = gate_key AND only_task IS NULL
        ORDER BY t.priority, t.rank, t.id
        LIMIT room
        FOR NO KEY UPDATE SKIP LOCKED
    ), single AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.id = only_task AND t.status = in_line AND t.waiting_gate = gate_key
        FOR NO KEY UPDATE SKIP LOCKED
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'queued', waiting_gate = NULL, waiting_reason = NULL, woken_for = gate_key, woken_at = callboard.now(),
            last_event = t.last_event + 1, updated_at = callboard.now()
        FROM (SELECT b.id FROM best b UNION ALL SELECT s.id FROM single s) AS w
        WHERE t.id = w.id
        RETURNING t.id, t.queue, t.last_event
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT m.id, m.last_event, 'status', callboard.now(), jsonb_build_object('from', 'waiting', 'to', 'queued', 'gate', gate_key) FROM moved m
    )
    SELECT m.id, m.queue, false FROM moved m;
END $$;


--
-- Name: wake_lines(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.wake_lines() RETURNS TABLE(id text, queue text)
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF pg_try_advisory_xact_lock(4711200802) THEN
        RETURN QUERY SELECT w.id, w.queue FROM callboard.wake(ARRAY(SELECT l.key FROM callboard.lines_after('', 10000) AS l)) AS w;
    END IF;
END $$;


--
-- Name: why_waiting(callboard.tasks); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.why_waiting(t callboard.tasks) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    g callboard.gates;
    before integer;
    pace double precision;
    opens double precision := 0;
BEGIN
    SELECT * INTO g FROM callboard.gates WHERE key = t.waiting_gate;
    SELECT count(*) INTO before FROM (
        SELECT FROM callboard.tasks o
        WHERE o.status = 'waiting' AND o.waiting_gate = t.waiting_gate
          AND (o.priority, o.rank, o.id) < (t.priority, t.rank, t.id)
        LIMIT 10000
    ) AS better;
    SELECT p.seconds INTO pace FROM callboard.actor_pace p WHERE p.actor = t.actor;
    IF g.closed_until > callboard.now() THEN
        opens := extract(epoch FROM g.closed_until - callboard.now());
    ELSIF g.breaker_state = 'open' THEN
        opens := greatest(extract(epoch FROM g.breaker_changed_at - callboard.now()) + g.breaker_seconds, 0);
    END IF;
    RETURN jsonb_build_object(
        'reason', CASE
            WHEN g.paused THEN 'paused'
            WHEN g.closed_until > callboard.now() OR g.breaker_state <> 'closed' OR g.max_concurrent IS NULL
                THEN t.waiting_reason
            ELSE format('%s of %s running', (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key AND s.epoch > 0),
                        g.max_concurrent) END,
        'gate', t.waiting_gate,
        'position', before + 1,
        'eta_seconds', CASE
            WHEN g.paused OR pace IS NULL OR g.max_concurrent = 0 OR t.waiting_gate LIKE 'target:%' THEN NULL
            ELSE round((opens + ceil((before + 1)::numeric / coalesce(g.max_concurrent, 1)) * pace)::numeric, 1) END);
END $$;


--
-- Name: dead_letters; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.dead_letters AS
 SELECT id AS task_id,
    finished_at AS died_at,
    actor,
    (payload ->> 'agent_name'::text) AS agent_name,
    (payload ->> 'task_type'::text) AS task_type,
    (error ->> 'type'::text) AS error_type,
    (error ->> 'category'::text) AS category,
    (error ->> 'message'::text) AS error_message,
    attempt AS attempts,
    max_attempts,
    payload,
    checkpoint,
    queue,
    tenant,
    target,
    tokens,
    cost,
    created_at,
    started_at AS last_started_at
   FROM callboard.tasks t
  WHERE ((status = 'dead'::text) AND (hidden_at IS NULL))
  ORDER BY finished_at DESC;


--
-- Name: VIEW dead_letters; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.dead_letters IS 'Tasks that need a person: all that have died, newest first, and why.';


--
-- Name: attempts; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.attempts (
    task_id text NOT NULL COLLATE pg_catalog."C",
    epoch integer NOT NULL,
    attempt integer NOT NULL,
    worker_id text NOT NULL,
    outcome callboard.outcome NOT NULL,
    error jsonb,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE attempts; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.attempts IS 'Executions that have ended. The one that runs now is the task''s row in leases.';


--
-- Name: COLUMN attempts.attempt; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.attempts.attempt IS 'The number of the attempt; a released one is counted again by the next execution.';


--
-- Name: COLUMN attempts.outcome; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.attempts.outcome IS 'failed: the code raised an error. lost: the worker died. released: given back at a graceful shutdown.';


--
-- Name: errors_by_actor; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.errors_by_actor AS
 SELECT t.actor,
    (a.error ->> 'type'::text) AS error_type,
    count(*) AS attempts,
    count(DISTINCT a.task_id) AS tasks,
    max(a.finished_at) AS last_at
   FROM (callboard.attempts a
     JOIN callboard.tasks t ON ((t.id = a.task_id)))
  WHERE ((a.error IS NOT NULL) AND (a.finished_at > (callboard.now() - '24:00:00'::interval)))
  GROUP BY t.actor, (a.error ->> 'type'::text);


--
-- Name: VIEW errors_by_actor; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.errors_by_actor IS 'Failures of the last 24 hours by actor and type of error.';


--
-- Name: slots; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.slots (
    gate text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    epoch integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='500');


--
-- Name: TABLE slots; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.slots IS 'The place of a running task at each of its gates.';


--
-- Name: gates; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.gates AS
 SELECT key,
    max_concurrent,
    declared_concurrent,
    (max_concurrent IS DISTINCT FROM declared_concurrent) AS overridden,
    ( SELECT count(*) AS count
           FROM callboard.slots s
          WHERE (s.gate = g.key)) AS running,
    ( SELECT count(*) AS count
           FROM callboard.tasks t
          WHERE ((t.status = 'waiting'::text) AND (t.waiting_gate = g.key))) AS waiting,
    rate_count,
    rate_seconds,
    paused,
    closed_until,
    breaker_state,
    breaker_changed_at
   FROM callboard.gates g;


--
-- Name: VIEW gates; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.gates IS 'Gates with their settings, how many tasks run behind each, and how many wait at it.';


--
-- Name: events; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.events (
    task_id text NOT NULL COLLATE pg_catalog."C",
    n integer NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL,
    at timestamp with time zone NOT NULL
);


--
-- Name: TABLE events; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.events IS 'The history of tasks: what streams send and the audit trail keeps. Rows are only added.';


--
-- Name: COLUMN events.n; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.events.n IS 'Counts up from 1 for each task, without gaps, under the lock of the task''s row.';


--
-- Name: COLUMN events.kind; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.events.kind IS 'One of EVENT_KINDS in state/tasks/events.py, or a kind that an actor has chosen.';


--
-- Name: leases; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.leases (
    task_id text NOT NULL COLLATE pg_catalog."C",
    epoch integer NOT NULL,
    worker_id text NOT NULL COLLATE pg_catalog."C",
    claim_number bigint NOT NULL,
    cancel_requested text,
    started_at timestamp with time zone NOT NULL,
    renewed_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    on_loss jsonb
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='500');


--
-- Name: TABLE leases; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.leases IS 'A worker''s right to a task. A running task has exactly one; no other task has any.';


--
-- Name: COLUMN leases.claim_number; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.leases.claim_number IS 'Counts the worker''s claims: the result of a claim may still be on its way to the worker.';


--
-- Name: COLUMN leases.cancel_requested; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.leases.cancel_requested IS 'As in tasks; here it is read by the worker''s pulse.';


--
-- Name: COLUMN leases.on_loss; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.leases.on_loss IS 'What to write instead of "lost" if the worker dies: {"report": {...} or null, "settlement": {...}}.';


--
-- Name: reservations; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.reservations (
    gate text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE reservations; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.reservations IS 'A place at a gate that is kept for a while for a task with several gates, which others would overtake for ever.';


--
-- Name: invariants; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.invariants AS
 SELECT 'running without its lease'::text AS invariant,
    t.id AS task_id,
    NULL::text AS gate
   FROM callboard.tasks t
  WHERE ((t.status = 'running'::text) AND (NOT (EXISTS ( SELECT
           FROM callboard.leases l
          WHERE ((l.task_id = t.id) AND (l.epoch = t.epoch))))))
UNION ALL
 SELECT 'lease without its running task'::text AS invariant,
    l.task_id,
    NULL::text AS gate
   FROM callboard.leases l
  WHERE (NOT (EXISTS ( SELECT
           FROM callboard.tasks t
          WHERE ((t.id = l.task_id) AND (t.epoch = l.epoch) AND (t.status = 'running'::text)))))
UNION ALL
 SELECT 'slot without its lease'::text AS invariant,
    s.task_id,
    s.gate
   FROM callboard.slots s
  WHERE (NOT (EXISTS ( SELECT
           FROM callboard.leases l
          WHERE ((l.task_id = s.task_id) AND (l.epoch = s.epoch)))))
UNION ALL
 SELECT 'running without a slot at one of its gates'::text AS invariant,
    t.id AS task_id,
    k.key AS gate
   FROM callboard.tasks t,
    LATERAL unnest(t.gates) k(key)
  WHERE ((t.status = 'running'::text) AND (NOT (EXISTS ( SELECT
           FROM callboard.slots s
          WHERE ((s.gate = k.key) AND (s.task_id = t.id) AND (s.epoch = t.epoch))))))
UNION ALL
 SELECT 'place reserved for a task that neither waits nor is queued'::text AS invariant,
    r.task_id,
    r.gate
   FROM callboard.reservations r
  WHERE ((r.expires_at > callboard.now()) AND (NOT (EXISTS ( SELECT
           FROM callboard.tasks t
          WHERE ((t.id = r.task_id) AND (t.status = ANY (ARRAY['queued'::text, 'waiting'::text])))))))
UNION ALL
 SELECT 'waiting at no gate'::text AS invariant,
    t.id AS task_id,
    NULL::text AS gate
   FROM callboard.tasks t
  WHERE ((t.status = 'waiting'::text) AND (t.waiting_gate IS NULL))
UNION ALL
 SELECT 'attempts beyond the limit'::text AS invariant,
    t.id AS task_id,
    NULL::text AS gate
   FROM callboard.tasks t
  WHERE (t.attempt > (t.max_attempts)::integer)
UNION ALL
 SELECT 'history with a gap'::text AS invariant,
    t.id AS task_id,
    NULL::text AS gate
   FROM callboard.tasks t
  WHERE ((t.status = ANY (ARRAY['running'::text, 'paused'::text, 'dead'::text])) AND (t.last_event <> ( SELECT count(*) AS count
           FROM callboard.events e
          WHERE (e.task_id = t.id))))
UNION ALL
 SELECT 'two running at one target'::text AS invariant,
    min(t.id) AS task_id,
    ((COALESCE(t.tenant, ''::text) || '/'::text) || t.target) AS gate
   FROM callboard.tasks t
  WHERE ((t.status = 'running'::text) AND (t.target IS NOT NULL))
  GROUP BY t.tenant, t.target
 HAVING (count(*) > 1);


--
-- Name: VIEW invariants; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.invariants IS 'What must never be: a row here means a bug.';


--
-- Name: queue_status; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.queue_status AS
 SELECT queue,
    status,
    lane,
    count(*) AS tasks,
    min(available_at) AS oldest
   FROM callboard.tasks t
  WHERE (status <> ALL (ARRAY['completed'::text, 'canceled'::text]))
  GROUP BY queue, status, lane;


--
-- Name: VIEW queue_status; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.queue_status IS 'Tasks that are not terminal by queue, status and lane.';


--
-- Name: actor_pace; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.actor_pace (
    actor text NOT NULL,
    seconds double precision NOT NULL,
    updated_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE actor_pace; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.actor_pace IS 'How long an actor''s tasks take, as the workers measure it: estimates are made from it.';


--
-- Name: slow_tasks; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.slow_tasks AS
 SELECT t.id,
    t.actor,
    t.worker_id,
    t.attempt,
    (callboard.now() - l.started_at) AS running_for,
    p.seconds AS usual_seconds,
    (t.progress ->> 'message'::text) AS message
   FROM ((callboard.leases l
     JOIN callboard.tasks t ON ((t.id = l.task_id)))
     LEFT JOIN callboard.actor_pace p ON ((p.actor = t.actor)))
  WHERE ((callboard.now() - l.started_at) > make_interval(secs => GREATEST(((3)::double precision * COALESCE(p.seconds, (60)::double precision)), (60)::double precision)));


--
-- Name: VIEW slow_tasks; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.slow_tasks IS 'Running tasks that take three times as long as is usual for their actor, and at least a minute.';


--
-- Name: targets; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.targets AS
 SELECT tenant,
    target,
    count(*) AS unfinished,
    (array_agg(id ORDER BY created_at, id))[1] AS first_task,
    (array_agg(status ORDER BY created_at, id))[1] AS first_status
   FROM callboard.tasks t
  WHERE ((target IS NOT NULL) AND (status <> ALL (ARRAY['completed'::text, 'canceled'::text])))
  GROUP BY tenant, target;


--
-- Name: VIEW targets; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.targets IS 'Targets with unfinished tasks, and the first of these, which holds up the others.';


--
-- Name: tasks; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.tasks AS
 SELECT t.id,
    t.actor,
    t.queue,
    t.lane,
    t.status,
    t.priority,
    t.tenant,
    t.target,
    t.attempt,
    t.max_attempts,
    t.epoch,
    COALESCE((t.progress ->> 'percent'::text), '0'::text) AS percent,
    (t.progress ->> 'message'::text) AS message,
    (t.error ->> 'type'::text) AS error_type,
    (t.error ->> 'message'::text) AS error_message,
    t.waiting_gate,
    t.worker_id,
    l.renewed_at AS heartbeat_at,
    l.expires_at AS lease_expires_at,
    t.cancel_requested,
    t.available_at,
    t.created_at,
    t.started_at,
    t.finished_at
   FROM (callboard.tasks t
     LEFT JOIN callboard.leases l ON ((l.task_id = t.id)));


--
-- Name: VIEW tasks; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.tasks IS 'All tasks with the columns that people look for.';


--
-- Name: why_waiting; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.why_waiting AS
 SELECT t.id,
    t.actor,
    t.queue,
    t.tenant,
    t.priority,
    (w.why ->> 'gate'::text) AS gate,
    (w.why ->> 'reason'::text) AS reason,
    ((w.why ->> 'position'::text))::integer AS "position",
    ((w.why ->> 'eta_seconds'::text))::double precision AS eta_seconds,
    t.created_at,
    (callboard.now() - t.updated_at) AS waiting_for
   FROM callboard.tasks t,
    LATERAL ( SELECT callboard.why_waiting(t.*) AS why) w
  WHERE (t.status = 'waiting'::text);


--
-- Name: VIEW why_waiting; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.why_waiting IS 'Waiting tasks: at which gate, why, at which position, and for how long by estimate.';


--
-- Name: maintainer; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.maintainer (
    only_row boolean DEFAULT true NOT NULL,
    worker_id text,
    expires_at timestamp with time zone,
    CONSTRAINT maintainer_only_row_check CHECK (only_row)
)
WITH (fillfactor='50');


--
-- Name: TABLE maintainer; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.maintainer IS 'The one worker that does the cluster''s housekeeping. Always exactly one row.';


--
-- Name: workers; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.workers (
    id text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid_namespace text NOT NULL,
    pid integer NOT NULL,
    process_started double precision NOT NULL,
    start_ticks bigint,
    queues text[] NOT NULL,
    actors text[],
    threads integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone
);


--
-- Name: TABLE workers; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.workers IS 'Worker processes, one row for each start of one.';


--
-- Name: COLUMN workers.boot_id; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.workers.boot_id IS 'With host and pid_namespace: workers that can ask their kernel whether this one still runs.';


--
-- Name: COLUMN workers.process_started; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.workers.process_started IS 'The start time by the wall clock; read by release 15 only.';


--
-- Name: COLUMN workers.start_ticks; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.workers.start_ticks IS 'The kernel''s start time of the process, which no clock step changes; NULL where it is not known.';


--
-- Name: COLUMN workers.actors; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.workers.actors IS 'Names of the actors that the worker knows; NULL for workers of release 15.';


--
-- Name: COLUMN workers.seen_at; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.workers.seen_at IS 'The last pulse.';


--
-- Name: workers; Type: VIEW; Schema: admin; Owner: -
--

CREATE VIEW admin.workers AS
 SELECT id,
    host,
    pid,
    queues,
    threads,
    started_at,
    seen_at,
    (callboard.now() - seen_at) AS silent_for,
    ( SELECT count(*) AS count
           FROM callboard.leases l
          WHERE (l.worker_id = w.id)) AS running,
    (EXISTS ( SELECT
           FROM callboard.maintainer m
          WHERE ((m.worker_id = w.id) AND (m.expires_at > callboard.now())))) AS maintainer
   FROM callboard.workers w
  WHERE (stopped_at IS NULL);


--
-- Name: VIEW workers; Type: COMMENT; Schema: admin; Owner: -
--

COMMENT ON VIEW admin.workers IS 'Workers that have not stopped.';


--
-- Name: applied_files; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.applied_files (
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE applied_files; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.applied_files IS 'Files of the schema that are applied, each with the digest of its text.';


--
-- Name: contents; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.contents (
    id text NOT NULL,
    generation_id text NOT NULL,
    "position" integer NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    media_type text NOT NULL,
    created_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE contents; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.contents IS 'What a generation made. The bytes are in the content store.';


--
-- Name: COLUMN contents.sha256; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.contents.sha256 IS 'The name of the bytes in the content store: equal bytes are stored once.';


--
-- Name: dedup; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.dedup (
    tenant text NOT NULL,
    actor text NOT NULL,
    key text NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    until timestamp with time zone NOT NULL,
    ttl double precision
);


--
-- Name: TABLE dedup; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.dedup IS 'Dedup keys and the tasks that hold them. A key is free when its task is finished or its time is over.';


--
-- Name: COLUMN dedup.tenant; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.dedup.tenant IS 'Empty for tasks without a tenant.';


--
-- Name: COLUMN dedup.ttl; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.dedup.ttl IS 'Seconds from taking the key to `until`: a revived task takes it for as long again. NULL: a day, or taken by release 15.';


--
-- Name: gate_results; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.gate_results (
    gate text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    epoch integer NOT NULL,
    failed boolean NOT NULL,
    at timestamp with time zone NOT NULL
);


--
-- Name: TABLE gate_results; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.gate_results IS 'Recent results at gates that have a breaker: appended by settle, judged under the gate''s lock.';


--
-- Name: gate_starts; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.gate_starts (
    gate text NOT NULL COLLATE pg_catalog."C",
    n bigint,
    at timestamp with time zone NOT NULL
);


--
-- Name: TABLE gate_starts; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.gate_starts IS 'Recent starts at gates that have a rate.';


--
-- Name: COLUMN gate_starts.n; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.gate_starts.n IS 'Counts up for each gate, so that nothing has to count the starts in a window; NULL: written by release 15.';


--
-- Name: generations; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.generations (
    id text NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL,
    action_type text NOT NULL,
    status text NOT NULL,
    prompt text,
    request jsonb NOT NULL,
    raw_response jsonb,
    error jsonb,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT generations_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])))
);


--
-- Name: TABLE generations; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.generations IS 'One request to a media provider, whatever became of it.';


--
-- Name: COLUMN generations.prompt; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.generations.prompt IS 'The text that was sent: a stored prompt may change later.';


--
-- Name: idempotency; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.idempotency (
    tenant text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash text NOT NULL,
    answer jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE idempotency; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.idempotency IS 'Responses to requests with an Idempotency-Key, kept for 24 hours.';


--
-- Name: COLUMN idempotency.tenant; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.idempotency.tenant IS 'Empty for requests without a tenant.';


--
-- Name: COLUMN idempotency.body_hash; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.idempotency.body_hash IS 'The same key with another body is refused.';


--
-- Name: prompts; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.prompts (
    tenant text NOT NULL,
    id text NOT NULL,
    text text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE prompts; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.prompts IS 'Texts that people keep and tasks name by id.';


--
-- Name: COLUMN prompts.tenant; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.prompts.tenant IS 'Empty for prompts without a tenant.';


--
-- Name: schema_files; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.schema_files (
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE schema_files; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.schema_files IS 'Read by release 15 only: the files of its schema. The files of this release are in applied_files.';


--
-- Name: schema_version; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.schema_version (
    only_row boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    supports integer NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schema_version_only_row_check CHECK (only_row)
);


--
-- Name: TABLE schema_version; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON TABLE callboard.schema_version IS 'The contract between code and database. Always one row when the schema is complete.';


--
-- Name: COLUMN schema_version.version; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.schema_version.version IS 'The number of the highest migration.';


--
-- Name: COLUMN schema_version.supports; Type: COMMENT; Schema: callboard; Owner: -
--

COMMENT ON COLUMN callboard.schema_version.supports IS 'The oldest release that works on this schema, by the version of its own schema.';


--
-- Name: queue; Type: TABLE; Schema: dramatiq; Owner: -
--

CREATE TABLE dramatiq.queue (
    message_id uuid NOT NULL,
    queue_name text DEFAULT 'default'::text NOT NULL,
    state dramatiq.state,
    mtime timestamp with time zone DEFAULT (now() AT TIME ZONE 'UTC'::text),
    message jsonb,
    result jsonb,
    result_ttl timestamp with time zone
);


--
-- Name: TABLE queue; Type: COMMENT; Schema: dramatiq; Owner: -
--

COMMENT ON TABLE dramatiq.queue IS 'Messages of plain Dramatiq actors, as dramatiq-pg keeps them. Tasks are in callboard.tasks.';


--
-- Name: actor_pace actor_pace_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.actor_pace
    ADD CONSTRAINT actor_pace_pkey PRIMARY KEY (actor);


--
-- Name: applied_files applied_files_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.applied_files
    ADD CONSTRAINT applied_files_pkey PRIMARY KEY (name);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (task_id, epoch);


--
-- Name: contents contents_generation_id_position_key; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.contents
    ADD CONSTRAINT contents_generation_id_position_key UNIQUE (generation_id, "position");


--
-- Name: contents contents_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.contents
    ADD CONSTRAINT contents_pkey PRIMARY KEY (id);


--
-- Name: dedup dedup_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.dedup
    ADD CONSTRAINT dedup_pkey PRIMARY KEY (tenant, actor, key);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (task_id, n);


--
-- Name: gates gates_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.gates
    ADD CONSTRAINT gates_pkey PRIMARY KEY (key);


--
-- Name: generations generations_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.generations
    ADD CONSTRAINT generations_pkey PRIMARY KEY (id);


--
-- Name: generations generations_task_id_key; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.generations
    ADD CONSTRAINT generations_task_id_key UNIQUE (task_id);


--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant, route, key);


--
-- Name: leases leases_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (task_id);


--
-- Name: maintainer maintainer_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.maintainer
    ADD CONSTRAINT maintainer_pkey PRIMARY KEY (only_row);


--
-- Name: prompts prompts_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.prompts
    ADD CONSTRAINT prompts_pkey PRIMARY KEY (tenant, id);


--
-- Name: reservations reservations_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (gate);


--
-- Name: schema_files schema_files_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (only_row);


--
-- Name: slots slots_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.slots
    ADD CONSTRAINT slots_pkey PRIMARY KEY (gate, task_id);


--
-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);


--
-- Name: workers workers_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);


--
-- Name: queue queue_pkey; Type: CONSTRAINT; Schema: dramatiq; Owner: -
--

ALTER TABLE ONLY dramatiq.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (message_id);


--
-- Name: dedup_until; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX dedup_until ON callboard.dedup USING btree (until);


--
-- Name: gate_results_failed; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_results_failed ON callboard.gate_results USING btree (gate, at) WHERE failed;


--
-- Name: gate_results_gate; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_results_gate ON callboard.gate_results USING btree (gate, at);


--
-- Name: gate_starts_gate; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_starts_gate ON callboard.gate_starts USING btree (gate, at);


--
-- Name: gate_starts_n; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_starts_n ON callboard.gate_starts USING btree (gate, n);


--
-- Name: gate_starts_unnumbered; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_starts_unnumbered ON callboard.gate_starts USING btree (gate, at) WHERE (n IS NULL);


--
-- Name: idempotency_age; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX idempotency_age ON callboard.idempotency USING btree (created_at);


--
-- Name: leases_worker; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX leases_worker ON callboard.leases USING btree (worker_id);


--
-- Name: reservations_task; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX reservations_task ON callboard.reservations USING btree (task_id);


--
-- Name: slots_target; Type: INDEX; Schema: callboard; Owner: -
--

CREATE UNIQUE INDEX slots_target ON callboard.slots USING btree (gate) WHERE (gate ~~ 'target:%'::text);


--
-- Name: slots_task; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX slots_task ON callboard.slots USING btree (task_id);


--
-- Name: tasks_aging; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_aging ON callboard.tasks USING btree (expires_at) WHERE ((expires_at IS NOT NULL) AND (status = ANY (ARRAY['scheduled'::text, 'queued'::text, 'waiting'::text])));


--
-- Name: tasks_claim; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_claim ON callboard.tasks USING btree (queue, lane, priority, rank, id) WHERE (status = 'queued'::text);


--
-- Name: tasks_due; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_due ON callboard.tasks USING btree (available_at) WHERE (status = 'scheduled'::text);


--
-- Name: tasks_fair; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_fair ON callboard.tasks USING btree (callboard.fair_key(queue, (lane)::text, (priority)::smallint, tenant), rank) WHERE (status = 'queued'::text);


--
-- Name: tasks_line; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_line ON callboard.tasks USING btree (waiting_gate, priority, rank, id) WHERE (status = 'waiting'::text);


--
-- Name: tasks_resting; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_resting ON callboard.tasks USING btree (status, id) WHERE (status = ANY (ARRAY['paused'::text, 'dead'::text]));


--
-- Name: tasks_target; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_target ON callboard.tasks USING btree (COALESCE(tenant, ''::text), target, created_at, id) WHERE ((target IS NOT NULL) AND (status <> ALL (ARRAY['completed'::text, 'canceled'::text])));


--
-- Name: tasks_woken; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_woken ON callboard.tasks USING btree (woken_for, woken_at) WHERE ((status = 'queued'::text) AND (woken_for IS NOT NULL));


--
-- Name: tasks_workflow_run; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX tasks_workflow_run ON callboard.tasks USING btree (((payload ->> 'workflow_run_id'::text)), id) WHERE ((payload ->> 'workflow_run_id'::text) IS NOT NULL);


--
-- Name: workers_alive; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX workers_alive ON callboard.workers USING btree (host) WHERE (stopped_at IS NULL);


--
-- Name: queue_state_mtime; Type: INDEX; Schema: dramatiq; Owner: -
--

CREATE INDEX queue_state_mtime ON dramatiq.queue USING btree (state, mtime);


--
-- Name: tasks drop_kept_slots; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER drop_kept_slots AFTER UPDATE OF status ON callboard.tasks FOR EACH ROW WHEN ((old.bounces > 0)) EXECUTE FUNCTION callboard.drop_reservations();


--
-- Name: leases drop_slots; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER drop_slots AFTER DELETE ON callboard.leases REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION callboard.drop_slots();


--
-- Name: tasks guard_births; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER guard_births BEFORE INSERT ON callboard.tasks FOR EACH ROW EXECUTE FUNCTION callboard.guard_births();


--
-- Name: tasks guard_moves; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER guard_moves AFTER UPDATE OF status ON callboard.tasks FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT callboard.may_move(old.status, new.status)))) EXECUTE FUNCTION callboard.refuse_move();


--
-- Name: gates lock_gate; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER lock_gate BEFORE INSERT OR UPDATE ON callboard.gates FOR EACH ROW EXECUTE FUNCTION callboard.lock_gate();


--
-- Name: contents contents_generation_id_fkey; Type: FK CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.contents
    ADD CONSTRAINT contents_generation_id_fkey FOREIGN KEY (generation_id) REFERENCES callboard.generations(id);

INSERT INTO callboard.applied_files (name, digest) VALUES
    ('comments/attempts', '5cfacf2bf146bfd8d97a218725d40ed81e94b1ff645dfe67ac80b3e234dd54d8'),
    ('comments/dramatiq', 'a47f0deb3f483f9e684438b7c1eff67ad11102ed2e363f202f868162c270b9cb'),
    ('comments/events', 'e48bcf94ed2788425425677a63eec8b3adfe89af0cf45803cb0bed741e6163c4'),
    ('comments/gates', '3c0905c39eb1ad6045b91ad27359c3063ca4a2ef375392098d3262df629c5fc6'),
    ('comments/idempotency', '6e87e3d94e20f8190da4ac31e5bef39797b9f48f37785da20f1ce0d5c3d7fe07'),
    ('comments/leases', '10292e1cd109263fea7b4464ee1032d3c4c7765b9b190f5ca9775964a68e546b'),
    ('comments/media', 'f93c38dbc63b45bd6bae2fe1c41aa17a62a44af4a7d922e98cb3b648127a3069'),
    ('comments/release_15', '2c69add37862eff432d0e59027cdeca27c60c9ada9ecb4db8e95e5da167865d8'),
    ('comments/schema', 'e00ae48ff5f936856e9f545ad593f2b77a30a03a51ee0fba3ca86f9670121275'),
    ('comments/tasks', 'dc42a368f4e989c6e7b5cdf7d035e5000fcac2128b48d9b58553fe452badc09e'),
    ('comments/workers', '307946c9983fc3e097d368da8b69521d149e93dd062571db5b66c13f3fde6161'),
    ('functions/actor_is_known', '404a4b655cb689d5b77aab5fabb26ce13bae52b3b7d5cc0eb48708e28216aafd'),
    ('functions/awaited_actors', '556702596e7da29fbbabfd77c2c8d110f171dfa4a6f4514bf8ef1d64d93669dd'),
    ('functions/backlog', '7519506acd83fa8cf44693586c28086e5688bf492a1865d755d9b6678f81be7b'),
    ('functions/claim', 'b95514a71abfe7e7d2abd21f38d95563b2401dbb3fb00891448be066e211e1b1'),
    ('functions/claim_tasks', '71b2abc80b08d9badebcfb56768b9007854650917de3bf6edcd16ec44542f316'),
    ('functions/dead_letter_fits', '307924d4cd5e5a173ebacec3e56e3e5a0937bb2d7846a89f06aa2b5b98147cfb'),
    ('functions/declare_gates', 'a6eb00325f15e9917af5cd0f4f90a18baef80b8a3487335280362ed413fe068e'),
    ('functions/dismiss', '3a3afa4cbcb45c7a8be7bcc76a80417d70bc509762e87cbc2005cd82ff845f5a'),
    ('functions/enter_gates', '5035aff9062132b1e373d90d2f37c3b112177ad936d5901cc02abeb59b013280'),
    ('functions/entry_rank', '2df429b0ea37104105f931fa323935c67edff7c5dc8b89471d79818bc52d2df1'),
    ('functions/gate_capacity', '883ea8d7dcbfb985e059652c9aeaefd26e80f32866a0abcb5015c81849817a30'),
    ('functions/gate_counts', 'eaebd1cf65acb65b05d657df2fa6abdc54929ebcc2a53158c31c000a5d09500b'),
    ('functions/guard_moves', '33a63143b7f5e4efb7eeff062c1acc1f2feb9254157f63e24bf1b33cb2166615'),
    ('functions/judge_breaker', '40b776186cf79f794294dca329c907b04707bbeb3113697c3f2044966fe1b611'),
    ('functions/line_at', '3046bd5ce7181dfea7a685709bcb8ce0fbe7a669e5fb692565ef7b0aa1290131'),
    ('functions/lock_gate', 'a50e55a9691db04ecab013044361ae00f435825f0f8b72524de8c5b8af9fb496'),
    ('functions/lock_gates', 'd6767a1ef3417dfb95932407ac2cb2be927119f929cb6730d850fdd799dd162c'),
    ('functions/park_behind', 'e17b6b816bbaf433c99fb4024917781c7e69c8cf6a624c0b0f1fd6228ddea7a3'),
    ('functions/park_tasks', '904b1d5d5341cdc4c5d3a7f8757a4e2a4081a5c8adae7679de4e5c404e613d76'),
    ('functions/park_unknown', 'a5cebda6eab047147ad0c1e269e8a50d22ed0c27f7f7a6821bfdc60d8f8d86cd'),
    ('functions/pass_gates', '4720143efbb7a70e78d2d20ca4ba96d0100c78ea991417626a88dd2db41c35e8'),
    ('functions/plain_lock', '9c91a698883486cb3b2df7e10c1d061acdf34e14bb97228cc070f6ebbf5d8d23'),
    ('functions/report', '5d9e490b1a612cf3a0ab8256ee48716e00945a42e6dddeb28b9cc8a92e999733'),
    ('functions/reserve', '5ac3de5c52e9400cdb2370b0d96e906eaabe4c71dd03507b77415932de968791'),
    ('functions/revive', '9078bce731e9f90199c4ecaecbac6c4be9802e4ad44a1b15f9b33eaf8a1f0d17'),
    ('functions/settle', '34aad279adda0f5d3296dc7fd9c9e7ea519bc26868e7b7a26474bd61971dc233'),
    ('functions/take_dedup_key', '24bd3a5097eb7601a4af5dd542bd86061719075f0fdd8ca3f4ba18e184c3ae3d'),
    ('functions/take_slots', 'ccbc5b3aa7dff8e97cb34bf8215e99fd4ddf6823fd2bf7243b16c99fb1b47fe8'),
    ('functions/target_turn', '656ae0a850a2982fd5f8755faf06f4c7bbd8d3ec4e8e6db9e9446523250d66b3'),
    ('functions/tie_slots_to_leases', '794a5b9e4fac79b6a4c3a1e9aeb6de79f5562d5d77cabb93e45503c0461097d4'),
    ('functions/wake', '42d7c1fbcd7a3fd1b3f95a6b9f36b5b728526a6dedd956bf3d0a1f00c2a955a3'),
    ('functions/wake_gate', '37b32e90aa7e745240141397b8379f049ddaed9aad32706b3cd22e7e3fdb870e'),
    ('functions/wake_lines', '195591bd472acf1748b3174b6416352de7d6213bb11a182e79b4f67520acdbb5'),
    ('functions/why_waiting', 'd96c3b606308c76c640cf2b07bc3deb77f8e19b75778e9a3c486d7a77e9c3195'),
    ('migrations/0016_gate_starts', '5cc4c3ac24b884e6ea9c139cb53375c566ab1427637c64c48e9f18d0914ab273'),
    ('migrations/0016_gates', 'ffa27a515dfb31db8fb4716219a0b8af2cde09201ef8dc175ace402810f01aef'),
    ('migrations/0016_reservations', '42b3e985cd3d90d8f12252321485ea85f84ded3c492d014270b9768434a2af49'),
    ('migrations/0016_slots', '3e456930f8897a4e22079beb6a47daec91cc5a84f71664075cbdba9570b8e811'),
    ('migrations/0017_failures', 'c33b5c63d513e94006254dd51c727911aa63e1cf1442e6f787da02b18318f03d'),
    ('migrations/0018_workers', '4ee3c574006ea8729dddd7d66a6949019305c0bbaf45829db4a738788c08a7f0'),
    ('migrations/0019_dedup_ttl', '814e0cccf5622d0751e571356d40db968ad99ace8bcfdfbbf780ccfffc32dbd9'),
    ('migrations/0020_version', 'c8a975c1f130cb2bb066ef8b0b37eaee8ed75d12e5a0a3fddff17ed5a73bc3c0'),
    ('migrations/0021_on_loss', '520a33b9ca45d7e384c6742da76f3705303cb515ed22c6d65c67456658dfd947'),
    ('tables/attempts', 'c5ac4948380354f21de076926f9756014eaf79095b390f51809e77b25add82c7'),
    ('tables/dramatiq', '30576656277709eadfcb60b0ab2d5aeb350b91dbc0f8abb65690d537b6153c97'),
    ('tables/events', 'c1fc0f981558a221057eedd7c28fbb454635c84d88756004c15cc64cbeebfe64'),
    ('tables/gates', '9fc8fa4dd580b359c267f9f989bd61ceb78a4fe7c32435fd4331423b27fc8f86'),
    ('tables/idempotency', 'b3566a475195faa7b1c3bb06fcb625b95a2d6636797dfa87defa2b25dad7f0d0'),
    ('tables/leases', 'cb517ded197aea3c10d2c3c29e02ad64026185b54a9e30770a3723d915792dc1'),
    ('tables/media', '75fdf7999d7fa566f15e5ac182dbd94955aec1348c5a81fd3ba654cb1473d942'),
    ('tables/release_15', 'c6f984bb424be437143110f391f42b230eb7aa698a91a8e260cfda4a01841a12'),
    ('tables/schema', '4d993538784e384d3b91d9aca15748b551bbfb853a9fa881bdef9c0bce75e333'),
    ('tables/tasks', '5af61bed1fe670f88c7b3835d9e9f40ddc79bd368908d4cf00f706bf215fd058'),
    ('tables/workers', '4807f6204b4bf38da42fa5fadb91f9a3419fe08bfa65b9245e67d8b6c429f5b9'),
    ('views/dead_letters', '4735dd34104ac5debe5ed089803cb37b77d2f51575a44cb034fd007a955cce72'),
    ('views/errors_by_actor', 'fab58c43d71f299426d33ed070b75663c323685a5993b19b952e578776f1b957'),
    ('views/gates', 'aeeff5ce3d2a40d7f99ffac0aa4531496ffcfaefc49f0202cf4585fa899f3d7f'),
    ('views/invariants', 'ad27194a081b18a8a520a87a4d292ae9c4b845c5c97b03d9638246fe5e64475d'),
    ('views/queue_status', '82f3a8a099d194676b1cec219c4e94453fa28119b1c65c8cf690ee61aa938a99'),
    ('views/slow_tasks', 'd668c01223fb25c150506a3b16e48e33d290c42d17529765c2bf98873f0464dc'),
    ('views/targets', 'dfeb1d140615585aeb1f008f53ba0c0bfae16db4e7cfeb1d7a8ceec020a9d547'),
    ('views/tasks', 'a76302483bd30391e3eca865f06f80cd41cec5bb44ef668bccf332663dad4768'),
    ('views/why_waiting', 'ac98bf3dd5e8540c874dd3f5ff52040ca9aff5f9a27d3a1975d3efca5bb549f2'),
    ('views/workers', 'b99f85c61111e5669680fbf4f4977598f009ced62216d9fd5ab4a2c058e302b2');

INSERT INTO callboard.schema_files (name, digest) VALUES
    ('functions/claim', 'b158a5ce12f83ebbed61794094441030a00643171729c4e971f67eb8e9cbce73'),
    ('functions/dead_letter_fits', 'd7eba7491192f67bed5b26532969dfaef51500ce3eb39c407748b39bebd2420f'),
    ('functions/dismiss', '1f90a1eddf1eb8b4acc6900b3ab7c9174a7426b04dc01b3f151981f2dc7960fd'),
    ('functions/entry_rank', 'e9e9f46e5c39250f51b7a45543bd0e7ac4e97144e7a4b7ad93d460077d7f556a'),
    ('functions/gate_room', 'c8a3fc606013f43a8e3d0030a0aae7c48e7abd1675fdc8aa73333a6ce981c368'),
    ('functions/guard_moves', 'af692c5be5cf5961e510e5b303b81decd479e1288dac6a7832b20b07132f5c0c'),
    ('functions/judge_breaker', '6a54242802a76006d229d909c84e262fca73247e5448342ef02462669b8b0099'),
    ('functions/line_at', 'dc6d2bc863077e51192409f89dc61e02d43618579a9abc10c158723bd3ab26a3'),
    ('functions/park_behind', '7f18b3eda99f40222d7ba841a9a75b2e0bcc2624a3a636d3a48227288712df62'),
    ('functions/pass_gates', '1f05a72d2edc6c80a692ac28f733fd74a21933896351018ad53bb2a7496ce099'),
    ('functions/report', 'f936f37b298ece168961e1b151807dd723d249e19907d5789e63c8329ddf11cf'),
    ('functions/revive', '443ecd984e389ba0233b9b97476da9f3a3b7dedebd8141f603f296bf0f27571a'),
    ('functions/settle', '7ed2af910331a10357e98154d90b490f418add797d268ca1780449aa54d8c7ee'),
    ('functions/take_slots', '70d4bfdbb75afc88cbbdaf01c2d00e0d98d2da4f91cc7dfd2e01341cb812c0ad'),
    ('functions/target_turn', '2f26b6c9cdf6d0f84bd93b743a568451fcde53ffe74a38c8686d37039c4891d8'),
    ('functions/wake', '934b58dca784ac65314ea8bafe01e9fb6cc8238807a64f641321a698b57b2416'),
    ('functions/wake_lines', '93f806b0d5d4d7c8de4722977e1412af3fd026dda473d55ad73ad0bf450972f5'),
    ('functions/why_waiting', 'c4fbba82b1cd36a8dddec960c3b84846c59221c8bad2c1e3f2ce583d2073dcd7'),
    ('migrations/0001_tasks', 'ff4b186e01ef1d92663e62edeff18455e2fe922a56998a2b5d5d9184d56cacab'),
    ('migrations/0002_dramatiq', '0c6c04b5f55990c6dc0b492359252acd5110110db8d0d61824e13c02ade11d69'),
    ('migrations/0003_contents', '315beb6a7af0ccc8c0882d30d5772c99e23f6105d079f90bfe35a8ed2812758f'),
    ('migrations/0004_gates', '2be7db71b2cf7f520d27d33f4654833916e96346181da245a95e31bb56347f38'),
    ('migrations/0007_control', '9378bcb2d5577a84ab389e8f42484f8fe7ebaf59157cb7676c34c9112fd36bac'),
    ('migrations/0010_prompts', '4cb18e5fc6d3278b567c63aa27b9263c7bd064cccf863502128e316c8dfd6c25'),
    ('migrations/0011_types', 'e1cf084419c466d4a2a4cff11d1260a904280383a562032184d8c6c17ff9e657'),
    ('migrations/0012_fair_key', 'c802cd7de7d80713a3f0aba1b60c3a7eca3f021b5dd323eedbef81d8c060d9f3'),
    ('migrations/0013_dear_key', 'be1a4eadd664af9f4a75fe7b4a171968ee5a10920a14ca5d542fb4e68f87d7b3'),
    ('migrations/0014_progress', '33fb2d3597bc810d7326a0ffe1fbe2eabacebb19f4a68c4d09af3c39d53e4211'),
    ('migrations/0015_reports', '50755a78fb059f6b4b378c61c16e5864988f31bcdeae2c546179bad5c541321b'),
    ('views/dead_letters', '2e22adacc2711a33978420f63c183b37cc434acc6d3b4b47ac1a379ffe5a65d6'),
    ('views/errors_by_actor', 'f60b110814296f6b2a10830310386aa89353bc4e8e8cb4881dd622aa5b02f307'),
    ('views/gates', '60e3deeef620400c3a00793ad8e508d7f49756d6ee6c80b872d87ed7a62dbfca'),
    ('views/invariants', 'cb004e61ab787d5350d36db6424d1af1a661de9cfa3dc5fa3f3d25c66e584dae'),
    ('views/queue_status', '41b5be623b0c907fdd26c45ce3aa1bea699e485c371de9761c82f033cfe0526c'),
    ('views/slow_tasks', '1fc9d58b807799aa9165120288420f18967f6d92e0c23bc66e4d74fd9c97ee55'),
    ('views/targets', 'b4d670f0e4dbb038c48bbc4a0f8ee58d4f379372388617e8e0b470f0b375f923'),
    ('views/tasks', 'cdf568fe41650dfbb74f0214ea072549d22f639eddf5caac853a6037eca1ee26'),
    ('views/why_waiting', 'eac02e7a077421092442482a89a0a6ff01670a9d7da0c107160c7551e864f084'),
    ('views/workers', 'ede3d0df801763f93c79be4106350bb79fd7d6bc75e63d539948edad251eb5bb');

INSERT INTO callboard.schema_version (version, supports) VALUES (21, 15);
INSERT INTO callboard.maintainer DEFAULT VALUES;
