-- The schema of release 15, as its `callboard migrate` makes it. Never edited: see schema.py.
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
-- Name: claim(text, bigint, text[], integer, integer, text[], double precision, interval, text[]); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.claim(worker text, claim_no bigint, queue_names text[], free_threads integer, ahead integer, short_actors text[], retry_share double precision, lease interval, freed_gates text[]) RETURNS TABLE(id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer, max_attempts integer, payload jsonb, checkpoint jsonb, tokens bigint, cost numeric, tenant text, to_wake text[], contended boolean)
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


--
-- Name: count_running(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.count_running() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT NEW.key, t.id, t.epoch
    FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id
    WHERE NEW.key = ANY (t.gates) AND t.status = 'running'
    ON CONFLICT (gate, task_id) DO NOTHING;
    RETURN NULL;
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
    payload jsonb NOT NULL,
    result jsonb,
    error jsonb,
    progress jsonb,
    checkpoint jsonb DEFAULT '{}'::jsonb NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    cost numeric DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    max_attempts callboard.attempt_limit NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    last_event integer DEFAULT 1 NOT NULL,
    cancel_requested callboard.stop_request,
    worker_id text,
    available_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    hidden_at timestamp with time zone,
    target text COLLATE pg_catalog."C",
    dedup_key text,
    gates text[] DEFAULT '{}'::text[] NOT NULL,
    gate_limits integer[] DEFAULT '{}'::integer[] NOT NULL,
    waiting_gate text COLLATE pg_catalog."C",
    waiting_reason text,
    woken_for text COLLATE pg_catalog."C",
    woken_at timestamp with time zone,
    bounces integer DEFAULT 0 NOT NULL,
    max_age double precision,
    attempts_before integer DEFAULT 0 NOT NULL,
    reports integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');


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
        RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status', '{"from": "dead", "to": "canceled", "reason": "dismissed"}', callboard.now()
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, 'dead', 'canceled', m.gates FROM moved m;
END $$;


--
-- Name: drop_kept_slots(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.drop_kept_slots() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.status IN ('queued', 'waiting') AND NEW.status NOT IN ('queued', 'waiting', 'running') THEN
        DELETE FROM callboard.slots WHERE task_id = NEW.id AND epoch = 0;
    END IF;
    RETURN NULL;
END $$;


--
-- Name: entry_rank(text, text, smallint, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.entry_rank(its_queue text, its_lane text, its_priority smallint, its_tenant text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    -- Not in the query itself: there it would have its price, and a plan for each call would look cheaper than one for all.
    its_key bigint := callboard.fair_key(its_queue, its_lane, its_priority, its_tenant);
    last bigint;
BEGIN
    SELECT t.rank INTO last FROM callboard.tasks t
    WHERE t.status = 'queued' AND callboard.fair_key(t.queue, t.lane, t.priority, t.tenant) = its_key
    ORDER BY t.rank DESC LIMIT 1;
    IF last IS NOT NULL THEN
        RETURN (last / 2 + 1) * 2 + 1;
    END IF;
    RETURN callboard.current_round(its_queue, its_lane, its_priority) * 2;
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
-- Name: gate_room(text, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.gate_room(gate_key text, for_task text, OUT room integer, OUT reason text) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    g callboard.gates;
    started integer;
    used integer;
BEGIN
    SELECT * INTO g FROM callboard.gates WHERE key = gate_key;
    room := 2147483647;
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
        SELECT count(*) INTO started FROM callboard.gate_starts s
        WHERE s.gate = gate_key AND s.at > callboard.now() - make_interval(secs => g.rate_seconds);
        IF g.rate_count - started < room THEN
            room := greatest(g.rate_count - started, 0);
            reason := format('%s of %s starts in %s s', started, g.rate_count, g.rate_seconds);
        END IF;
    END IF;
    IF room > 0 AND g.max_concurrent IS NOT NULL THEN
        SELECT count(*) INTO used FROM callboard.slots s WHERE s.gate = gate_key AND s.task_id IS DISTINCT FROM for_task;
        IF g.max_concurrent - used < room THEN
            room := greatest(g.max_concurrent - used, 0);
            reason := format('%s of %s running', used, g.max_concurrent);
        END IF;
    END IF;
END $$;


--
-- Name: guard_births(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.guard_births() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status = ANY (ARRAY['queued', 'scheduled', 'waiting']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'task % cannot begin as %', NEW.id, NEW.status USING ERRCODE = 'CB001';
END $$;


--
-- Name: gates; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.gates (
    key text NOT NULL COLLATE pg_catalog."C",
    declared_concurrent integer,
    max_concurrent integer,
    rate_count integer,
    rate_seconds double precision,
    paused boolean DEFAULT false NOT NULL,
    closed_until timestamp with time zone,
    breaker_threshold double precision,
    breaker_volume integer DEFAULT 10 NOT NULL,
    breaker_window double precision DEFAULT 60 NOT NULL,
    breaker_seconds double precision DEFAULT 60 NOT NULL,
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
-- Name: judge_breaker(callboard.gates); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.judge_breaker(g callboard.gates) RETURNS callboard.gates
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    failures integer;
    results integer;
    probe_failed boolean;
    before text := g.breaker_state;
    had_probe text := g.probe_task;
BEGIN
    IF g.breaker_state = 'closed' THEN
        SELECT count(*), count(*) FILTER (WHERE r.failed) INTO results, failures
        FROM callboard.gate_results r
        WHERE r.gate = g.key
          AND r.at > greatest(callboard.now() - make_interval(secs => g.breaker_window),
                              coalesce(g.breaker_changed_at, '-infinity'));
        IF results >= g.breaker_volume AND failures >= g.breaker_threshold * results THEN
            g.breaker_state := 'open';
        END IF;
    ELSIF g.breaker_state = 'open' THEN
        IF callboard.now() >= g.breaker_changed_at + make_interval(secs => g.breaker_seconds) THEN
            g.breaker_state := 'half_open';
        END IF;
    ELSIF g.probe_task IS NOT NULL THEN
        SELECT r.failed INTO probe_failed FROM callboard.gate_results r
        WHERE r.gate = g.key AND r.task_id = g.probe_task AND r.epoch = g.probe_epoch;
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
-- Name: may_move(text, text); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.may_move(before text, after text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN before || '>' || after = ANY (ARRAY['dead>canceled', 'dead>queued', 'paused>canceled', 'paused>queued', 'queued>canceled', 'queued>dead', 'queued>paused', 'queued>running', 'queued>waiting', 'running>canceled', 'running>completed', 'running>dead', 'running>paused', 'running>queued', 'running>scheduled', 'scheduled>canceled', 'scheduled>dead', 'scheduled>paused', 'scheduled>queued', 'waiting>canceled', 'waiting>dead', 'waiting>paused', 'waiting>queued']);
END $$;


--
-- Name: now(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.now() RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$SELECT statement_timestamp()$$;


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
    parked integer;
BEGIN
    WITH behind AS MATERIALIZED (
        SELECT h.id, h.gate
        FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
             LATERAL (
                SELECT t.id, (SELECT k FROM unnest(t.gates) AS k WHERE k = ANY (full_gates) LIMIT 1) AS gate
                FROM callboard.tasks t
                WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND t.woken_for IS NULL
                  AND t.id <> ALL (but_not)
                ORDER BY t.priority, t.rank, t.id
                LIMIT 1000
                FOR NO KEY UPDATE SKIP LOCKED
             ) h
        WHERE h.gate IS NOT NULL
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'waiting', waiting_gate = b.gate, waiting_reason = 'others stand in line before it',
            last_event = t.last_event + 1, updated_at = callboard.now()
        FROM behind b WHERE t.id = b.id
        RETURNING t.id, t.last_event, t.waiting_gate
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_build_object('from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate,
                                  'reason', 'others stand in line before it'),
               callboard.now()
        FROM moved m
    )
    SELECT count(*) INTO parked FROM moved;
    RETURN parked;
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
    held text[];                    -- gates whose lock is ours
    rooms jsonb := '{}';            -- by gate: how many may still start
    reasons jsonb := '{}';
    task record;
    gate_key text;
    gate record;
    stopped_at text;
    reason text;
    passed text[];
    parked_ids text[] := '{}';
    parked_gates text[] := '{}';
    parked_reasons text[] := '{}';
    parked_bounces integer[] := '{}';
BEGIN
    taken := '{}'; closed := '{}'; to_wake := '{}'; contended := false;
    -- A missing row never means open: the limit that the actor has declared holds from the first task on.
    INSERT INTO callboard.gates (key, declared_concurrent, max_concurrent)
    SELECT d.key, min(d.declared), min(d.declared)
    FROM callboard.tasks t, unnest(t.gates, t.gate_limits) AS d (key, declared)
    WHERE t.id = ANY (candidates) AND d.declared IS NOT NULL
      AND NOT EXISTS (SELECT FROM callboard.gates g WHERE g.key = d.key)
    GROUP BY d.key ORDER BY d.key
    ON CONFLICT (key) DO NOTHING;

    SELECT array_agg(DISTINCT k) INTO keys FROM callboard.tasks t, unnest(t.gates) AS k WHERE t.id = ANY (candidates);
    -- Only gates that count are locked: locking the others would make all claims wait for each other.
    SELECT coalesce(array_agg(l.key), '{}') INTO held FROM (
        SELECT g.key FROM callboard.gates g
        WHERE g.key = ANY (keys)
          AND (g.max_concurrent IS NOT NULL OR g.rate_count IS NOT NULL OR g.breaker_threshold IS NOT NULL)
        ORDER BY g.key FOR NO KEY UPDATE SKIP LOCKED
    ) AS l;
    FOREACH gate_key IN ARRAY keys LOOP
        IF gate_key LIKE 'target:%' THEN
            IF pg_try_advisory_xact_lock(hashtextextended(gate_key, 7)) THEN
                held := held || gate_key;
            END IF;
        ELSIF gate_key <> ALL (held) AND NOT EXISTS (
            SELECT FROM callboard.gates g WHERE g.key = gate_key
              AND (g.max_concurrent IS NOT NULL OR g.rate_count IS NOT NULL OR g.breaker_threshold IS NOT NULL)) THEN
            held := held || gate_key;  -- it has nothing to count: no lock needed
        END IF;
        IF gate_key <> ALL (held) THEN
            contended := true;
            closed := closed || gate_key;
        ELSE
            SELECT r.room, r.reason INTO gate FROM callboard.gate_room(gate_key, NULL) AS r;
            rooms := rooms || jsonb_build_object(gate_key, gate.room);
            reasons := reasons || jsonb_build_object(gate_key, gate.reason);
        END IF;
    END LOOP;

    FOR task IN
        SELECT t.id, t.gates, t.tenant, t.target, t.created_at, t.woken_for, t.bounces
        FROM unnest(candidates) WITH ORDINALITY AS c (id, place) JOIN callboard.tasks t ON t.id = c.id
        ORDER BY c.place
    LOOP
        EXIT WHEN cardinality(taken) >= wanted;
        stopped_at := NULL; reason := NULL; passed := '{}';
        FOREACH gate_key IN ARRAY task.gates LOOP
            IF gate_key <> ALL (held) THEN
                stopped_at := gate_key;
                EXIT;
            END IF;
            IF gate_key LIKE 'target:%' AND NOT callboard.target_turn(
                task.tenant, task.target, task.created_at, task.id) THEN
                stopped_at := gate_key; reason := 'an earlier task of this target is unfinished';
                EXIT;
            END IF;
            IF (rooms ->> gate_key)::integer <= 0 AND NOT (task.bounces > 0 AND EXISTS (
                    SELECT FROM callboard.slots s WHERE s.gate = gate_key AND s.task_id = task.id)
                AND (SELECT r.room FROM callboard.gate_room(gate_key, task.id) AS r) > 0) THEN
                stopped_at := gate_key; reason := reasons ->> gate_key;
                EXIT;
            END IF;
            passed := passed || gate_key;
        END LOOP;
        IF stopped_at IS NULL THEN
            taken := taken || task.id;
            FOREACH gate_key IN ARRAY task.gates LOOP
                IF NOT EXISTS (SELECT FROM callboard.slots s WHERE s.gate = gate_key AND s.task_id = task.id) THEN
                    rooms := rooms || jsonb_build_object(gate_key, (rooms ->> gate_key)::integer - 1);
                    reasons := CASE WHEN reasons ->> gate_key IS NULL
                        THEN reasons || jsonb_build_object(gate_key, 'all its places are taken') ELSE reasons END;
                END IF;
            END LOOP;
        ELSIF reason IS NOT NULL THEN
            parked_ids := parked_ids || task.id;
            parked_gates := parked_gates || stopped_at;
            parked_reasons := parked_reasons || reason;
            parked_bounces := parked_bounces || (task.bounces + (task.woken_for IS NOT NULL)::integer);
            IF task.woken_for IS NOT NULL AND task.woken_for <> stopped_at THEN
                to_wake := to_wake || task.woken_for;  -- it was another gate's turn: the next of that line may go
            END IF;
            IF task.bounces >= 3 THEN
                -- A task with several gates would starve behind streams of others: it keeps what it has passed, in
                -- the order of the keys, one such task at a gate.
                INSERT INTO callboard.slots (gate, task_id, epoch)
                SELECT p.key, task.id, 0 FROM unnest(passed) AS p (key)
                JOIN callboard.gates g ON g.key = p.key AND g.max_concurrent IS NOT NULL
                WHERE NOT EXISTS (SELECT FROM callboard.slots s WHERE s.gate = p.key AND s.epoch = 0)
                ON CONFLICT ON CONSTRAINT slots_pkey DO NOTHING;  -- a variable is called gate, too
                FOREACH gate_key IN ARRAY passed LOOP
                    SELECT r.room INTO gate FROM callboard.gate_room(gate_key, NULL) AS r;
                    rooms := rooms || jsonb_build_object(gate_key, gate.room);
                END LOOP;
            END IF;
        END IF;
    END LOOP;

    SELECT closed || coalesce(array_agg(r.key), '{}') INTO closed FROM jsonb_each_text(rooms) AS r (key, value)
    WHERE r.value::integer <= 0;
    IF cardinality(parked_ids) > 0 THEN
        WITH parked AS (
            UPDATE callboard.tasks t
            SET status = 'waiting', waiting_gate = p.gate, waiting_reason = p.reason, bounces = p.bounces,
                woken_for = NULL, woken_at = NULL, last_event = t.last_event + 1, updated_at = callboard.now()
            FROM unnest(parked_ids, parked_gates, parked_reasons, parked_bounces) AS p (id, gate, reason, bounces)
            WHERE t.id = p.id
            RETURNING t.id, t.last_event, t.waiting_gate, t.waiting_reason
        )
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT k.id, k.last_event, 'status',
               jsonb_build_object('from', 'queued', 'to', 'waiting', 'gate', k.waiting_gate, 'reason', k.waiting_reason),
               callboard.now()
        FROM parked k;
    END IF;
END $$;


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
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH input AS (
        SELECT i.*, jsonb_array_length(i.events) AS lines FROM jsonb_to_recordset(reports) AS i (
            id text COLLATE "C", epoch integer, number integer, progress jsonb, tokens bigint, cost numeric, events jsonb)
    ), mine AS MATERIALIZED (
        SELECT i.*, t.reports
        FROM input i, LATERAL (
            SELECT t.reports FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
            FOR NO KEY UPDATE
        ) t
    ), noted AS (
        UPDATE callboard.tasks t
        SET progress = coalesce(i.progress || jsonb_build_object('updated_at', callboard.now()), t.progress),
            tokens = t.tokens + i.tokens,
            cost = t.cost + i.cost,
            last_event = t.last_event + i.lines,
            reports = i.number,
            updated_at = callboard.now()
        FROM mine i
        WHERE t.id = i.id AND i.number > i.reports
        RETURNING t.id, t.last_event - i.lines AS before, i.events
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT n.id, n.before + e.place, e.line ->> 'kind', e.line -> 'data', callboard.now()
        FROM noted n, jsonb_array_elements(n.events) WITH ORDINALITY AS e (line, place)
    )
    SELECT m.id, m.epoch FROM mine m;
END $$;


--
-- Name: revive(text[], text, jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.revive(ids text[], why text, edited jsonb DEFAULT NULL::jsonb) RETURNS TABLE(id text, epoch integer, actor text, queue text, before text, status text, gates text[])
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
        SELECT t.id, t.status, t.payload, t.checkpoint, t.gates
        FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.hidden_at IS NULL
          AND (t.status = 'dead' OR t.status = 'scheduled' AND t.lane = 'retry')
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'queued',
            lane = 'retry',
            rank = callboard.entry_rank(t.queue, 'retry', t.priority, t.tenant),
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
            woken_for = NULL,
            bounces = 0,
            last_event = t.last_event + CASE WHEN edited IS NULL THEN 1 ELSE 2 END,
            updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, m.status AS before, t.status, m.gates, t.last_event,
                  m.payload AS old_payload, t.payload, m.checkpoint
    ), noted AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event - 1, 'payload',
               jsonb_build_object('before', m.old_payload, 'after', m.payload, 'checkpoint', m.checkpoint), callboard.now()
        FROM moved m WHERE edited IS NOT NULL
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_build_object('from', m.before, 'to', 'queued', 'reason', why), callboard.now()
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.before, m.status, m.gates FROM moved m;
END $$;


--
-- Name: settle(jsonb); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.settle(outcomes jsonb) RETURNS TABLE(id text, epoch integer, actor text, queue text, status text, gates text[])
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH input AS (
        SELECT i.* FROM jsonb_to_recordset(outcomes) AS i (
            id text COLLATE "C", epoch integer, outcome text, result jsonb, error jsonb, retry_seconds double precision)
    ), mine AS MATERIALIZED (
        SELECT t.*, i.outcome, i.result, i.error, coalesce(i.retry_seconds, 0) AS retry_seconds,
               CASE
                   WHEN i.outcome = 'completed' THEN 'completed'
                   WHEN t.cancel_requested IN ('cancel', 'force') THEN 'canceled'
                   -- A failure for good, or the last one, is not undone by a pause.
                   WHEN t.cancel_requested = 'pause'
                        AND (i.outcome = 'released' OR i.retry_seconds IS NOT NULL AND t.attempt < t.max_attempts)
                        THEN 'paused'
                   WHEN i.outcome = 'released' THEN 'queued'
                   WHEN i.outcome = 'failed' AND i.retry_seconds IS NOT NULL AND t.attempt < t.max_attempts
                        AND (t.expires_at IS NULL
                             OR callboard.now() + make_interval(secs => i.retry_seconds) < t.expires_at)
                        THEN 'scheduled'
                   ELSE 'dead'
               END AS next,
               -- A probe tries for all the others: its failure costs it no attempt.
               i.outcome = 'failed' AND EXISTS (
                   SELECT FROM callboard.gates g
                   WHERE g.key = ANY (t.gates) AND g.probe_task = t.id AND g.probe_epoch = i.epoch) AS failed_probe
        FROM input i, LATERAL (
            SELECT t.id, t.cancel_requested, t.attempt, t.max_attempts, t.expires_at, t.worker_id, t.started_at, t.gates
            FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
            FOR NO KEY UPDATE
        ) t
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = m.next,
            result = CASE WHEN m.next = 'completed' THEN m.result END,
            error = CASE m.outcome WHEN 'failed' THEN m.error WHEN 'completed' THEN NULL ELSE t.error END,
            attempt = CASE WHEN m.outcome = 'released' AND m.next <> 'canceled' OR m.failed_probe
                THEN t.attempt - 1 ELSE t.attempt END,
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
            last_event = t.last_event + 1,
            updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.status, t.attempt, t.last_event, t.available_at, t.updated_at,
                  t.gates, m.attempt AS used, m.outcome, m.error, m.worker_id, m.started_at
    ), freed AS (
        DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
    ), left_gates AS (
        DELETE FROM callboard.slots s USING moved m WHERE m.gates <> '{}' AND s.task_id = m.id
    ), judged AS (
        -- Only what says something about the service counts for its breaker.
        INSERT INTO callboard.gate_results (gate, task_id, epoch, failed, at)
        SELECT g.key, m.id, m.epoch, m.outcome = 'failed', m.updated_at
        FROM moved m, unnest(m.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
        WHERE g.breaker_threshold IS NOT NULL
          AND (m.outcome = 'completed'
               OR m.outcome = 'failed' AND m.error ->> 'type' IN ('ServiceUnavailable', 'ServerError', 'NetworkTimeout'))
    ), ended AS (
        INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
        SELECT m.id, m.epoch, m.used, m.worker_id,
               CASE WHEN m.status IN ('canceled', 'paused') THEN m.status ELSE m.outcome END, m.error, m.started_at,
               m.updated_at
        FROM moved m
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_strip_nulls(jsonb_build_object(
                   'from', 'running', 'to', m.status, 'attempt', m.attempt,
                   'reason', CASE WHEN m.status = 'queued' THEN 'released' END,
                   'available_at', CASE WHEN m.status = 'scheduled' THEN m.available_at END,
                   'error', CASE WHEN m.error IS NOT NULL THEN m.error - 'traceback' END)),
               m.updated_at
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.status, m.gates FROM moved m;
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
    SELECT g.key, t.id, t.epoch
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (started) AND g.max_concurrent IS NOT NULL
    ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch;

    INSERT INTO callboard.gate_starts (gate, at)
    SELECT g.key, callboard.now()
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (started) AND g.rate_count IS NOT NULL;

    UPDATE callboard.gates g
    SET probe_task = p.id, probe_epoch = p.epoch
    FROM (SELECT DISTINCT ON (k.key) k.key, t.id, t.epoch
          FROM callboard.tasks t, unnest(t.gates) AS k (key) WHERE t.id = ANY (started) ORDER BY k.key, t.id) AS p
    WHERE g.key = p.key AND g.breaker_state = 'half_open' AND g.probe_task IS NULL;
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
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    gate_key text;
    room integer;
    on_their_way integer;
    oldest text;
BEGIN
    FOR gate_key IN SELECT DISTINCT k COLLATE "C" FROM unnest(gate_keys) AS k ORDER BY 1 LOOP
        IF NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = gate_key) THEN
            CONTINUE;
        END IF;
        oldest := NULL;
        IF gate_key LIKE 'target:%' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(gate_key, 7));
            SELECT t.id INTO oldest FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = gate_key
            ORDER BY t.created_at, t.id LIMIT 1;
            CONTINUE WHEN oldest IS NULL OR NOT (
                SELECT callboard.target_turn(t.tenant, t.target, t.created_at, t.id)
                FROM callboard.tasks t WHERE t.id = oldest);
            room := 1;
        ELSE
            PERFORM FROM callboard.gates g WHERE g.key = gate_key FOR NO KEY UPDATE;
            SELECT r.room INTO room FROM callboard.gate_room(gate_key, NULL) AS r;
            -- Those woken a moment ago have not taken their slots yet; after two seconds they are not waited for.
            SELECT count(*) INTO on_their_way FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.woken_for = gate_key AND t.woken_at > callboard.now() - interval '2 seconds';
            room := least(room - on_their_way, 1000);
        END IF;
        CONTINUE WHEN room <= 0;
        RETURN QUERY
        WITH best AS MATERIALIZED (
            SELECT t.id FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = gate_key AND (oldest IS NULL OR t.id = oldest)
            ORDER BY t.priority, t.rank, t.id
            LIMIT room
            FOR NO KEY UPDATE SKIP LOCKED
        ), woken AS (
            UPDATE callboard.tasks t
            SET status = 'queued', woken_for = gate_key, woken_at = callboard.now(), waiting_gate = NULL,
                waiting_reason = NULL, last_event = t.last_event + 1, updated_at = callboard.now()
            FROM best WHERE t.id = best.id
            RETURNING t.id, t.queue, t.last_event
        ), logged AS (
            INSERT INTO callboard.events (task_id, n, kind, data, at)
            SELECT w.id, w.last_event, 'status',
                   jsonb_build_object('from', 'waiting', 'to', 'queued', 'gate', gate_key), callboard.now()
            FROM woken w
        )
        SELECT w.id, w.queue FROM woken w;
    END LOOP;
END $$;


--
-- Name: wake_lines(); Type: FUNCTION; Schema: callboard; Owner: -
--

CREATE FUNCTION callboard.wake_lines() RETURNS TABLE(id text, queue text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    gate_key text := '';
    keys text[] := '{}';
BEGIN
    IF NOT pg_try_advisory_xact_lock(4711200802) THEN
        RETURN;
    END IF;
    LOOP
        SELECT t.waiting_gate INTO gate_key FROM callboard.tasks t
        WHERE t.status = 'waiting' AND t.waiting_gate > gate_key
        ORDER BY t.waiting_gate LIMIT 1;
        EXIT WHEN gate_key IS NULL OR cardinality(keys) >= 10000;
        keys := keys || gate_key;
    END LOOP;
    RETURN QUERY SELECT w.id, w.queue FROM callboard.wake(keys) AS w;
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
            ELSE format('%s of %s running', (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key),
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
-- Name: slots; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.slots (
    gate text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    epoch integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='500');


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
          WHERE ((s.gate = g.key) AND (s.epoch > 0))) AS running,
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
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='500');


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
 SELECT 'slot of a task that neither runs nor waits'::text AS invariant,
    s.task_id,
    s.gate
   FROM callboard.slots s
  WHERE (NOT (EXISTS ( SELECT
           FROM callboard.tasks t
          WHERE ((t.id = s.task_id) AND (((t.status = 'running'::text) AND (s.epoch = t.epoch)) OR ((t.status = ANY (ARRAY['queued'::text, 'waiting'::text])) AND (s.epoch = 0)))))))
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
    ((t.tenant || '/'::text) || t.target) AS gate
   FROM callboard.tasks t
  WHERE ((t.status = 'running'::text) AND (t.target IS NOT NULL))
  GROUP BY t.tenant, t.target
 HAVING (count(*) > 1);


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
  WHERE (status = ANY (ARRAY['queued'::text, 'waiting'::text, 'scheduled'::text, 'running'::text, 'paused'::text, 'dead'::text]))
  GROUP BY queue, status, lane;


--
-- Name: actor_pace; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.actor_pace (
    actor text NOT NULL,
    seconds double precision NOT NULL,
    updated_at timestamp with time zone NOT NULL
);


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
-- Name: workers; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.workers (
    id text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid_namespace text NOT NULL,
    pid integer NOT NULL,
    process_started double precision NOT NULL,
    queues text[] NOT NULL,
    threads integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone
);


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
          WHERE (l.worker_id = w.id)) AS running
   FROM callboard.workers w
  WHERE (stopped_at IS NULL);


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
-- Name: dedup; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.dedup (
    tenant text NOT NULL,
    actor text NOT NULL,
    key text NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    until timestamp with time zone NOT NULL
);


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
-- Name: gate_starts; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.gate_starts (
    gate text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL
);


--
-- Name: generations; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.generations (
    id text NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL,
    action_type text NOT NULL,
    status text NOT NULL,
    request jsonb NOT NULL,
    raw_response jsonb,
    error jsonb,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    prompt text,
    CONSTRAINT generations_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text])))
);


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
-- Name: schema_files; Type: TABLE; Schema: callboard; Owner: -
--

CREATE TABLE callboard.schema_files (
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


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
-- Name: actor_pace actor_pace_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.actor_pace
    ADD CONSTRAINT actor_pace_pkey PRIMARY KEY (actor);


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
-- Name: prompts prompts_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.prompts
    ADD CONSTRAINT prompts_pkey PRIMARY KEY (tenant, id);


--
-- Name: schema_files schema_files_pkey; Type: CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);


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
-- Name: gate_results_gate; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_results_gate ON callboard.gate_results USING btree (gate, at);


--
-- Name: gate_starts_gate; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX gate_starts_gate ON callboard.gate_starts USING btree (gate, at);


--
-- Name: idempotency_age; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX idempotency_age ON callboard.idempotency USING btree (created_at);


--
-- Name: leases_worker; Type: INDEX; Schema: callboard; Owner: -
--

CREATE INDEX leases_worker ON callboard.leases USING btree (worker_id);


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
-- Name: gates count_running_insert; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER count_running_insert AFTER INSERT ON callboard.gates FOR EACH ROW WHEN ((new.max_concurrent IS NOT NULL)) EXECUTE FUNCTION callboard.count_running();


--
-- Name: gates count_running_update; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER count_running_update AFTER UPDATE OF max_concurrent ON callboard.gates FOR EACH ROW WHEN (((old.max_concurrent IS NULL) AND (new.max_concurrent IS NOT NULL))) EXECUTE FUNCTION callboard.count_running();


--
-- Name: tasks drop_kept_slots; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER drop_kept_slots AFTER UPDATE OF status ON callboard.tasks FOR EACH ROW WHEN ((old.bounces > 0)) EXECUTE FUNCTION callboard.drop_kept_slots();


--
-- Name: tasks guard_births; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER guard_births BEFORE INSERT ON callboard.tasks FOR EACH ROW EXECUTE FUNCTION callboard.guard_births();


--
-- Name: tasks guard_moves; Type: TRIGGER; Schema: callboard; Owner: -
--

CREATE TRIGGER guard_moves AFTER UPDATE OF status ON callboard.tasks FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT callboard.may_move(old.status, new.status)))) EXECUTE FUNCTION callboard.refuse_move();


--
-- Name: contents contents_generation_id_fkey; Type: FK CONSTRAINT; Schema: callboard; Owner: -
--

ALTER TABLE ONLY callboard.contents
    ADD CONSTRAINT contents_generation_id_fkey FOREIGN KEY (generation_id) REFERENCES callboard.generations(id);

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
