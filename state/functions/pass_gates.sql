-- Decides which of these locked tasks, in their order, may start now. Those take their slots, which the next batch of
-- this claim finds counted. A task that meets a closed gate is moved to its line; a task with a gate that another
-- session has locked is left alone. Waits for no lock.
CREATE OR REPLACE FUNCTION callboard.pass_gates(
    candidates text[], wanted integer,
    OUT taken text[], OUT closed text[], OUT to_wake text[], OUT contended boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
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
                bounces = p.bounces, /*count_move*/
            FROM unnest(parked_ids, parked_gates, parked_reasons, parked_bounces) AS p (id, gate, reason, bounces)
            WHERE t.id = p.id
            RETURNING t.id, t.last_event, t.waiting_gate, t.waiting_reason
        )
        /*log_move*/ jsonb_build_object(
            'from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate, 'reason', m.waiting_reason)
        FROM moved m;
    END IF;
END $$;
