-- Which of these locked tasks, in their order, may start now. A task that meets a closed gate is parked there; one
-- whose gate another process holds at this moment is left alone. Gate rows are never waited for here.
CREATE OR REPLACE FUNCTION callboard.pass_gates(
    candidates text[], wanted integer,
    OUT taken text[], OUT closed text[], OUT to_wake text[], OUT contended boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
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
