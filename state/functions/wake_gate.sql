-- Lets tasks out of a gate's line after capacity may have become free: as many as may start go back to the queue, best
-- first. Waits for no lock: if another session has locked the gate, returns one row that says `busy`, and the caller
-- tries again soon.
CREATE OR REPLACE FUNCTION callboard.wake_gate(gate_key text) RETURNS TABLE (id text, queue text, busy boolean) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
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
              AND t.status NOT IN (/*terminal*/) AND t.hidden_at IS NULL
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
            /*count_move*/
        FROM (SELECT b.id FROM best b UNION ALL SELECT s.id FROM single s) AS w
        WHERE t.id = w.id
        RETURNING t.id, t.queue, t.last_event
    ), logged AS (
        /*log_move*/ jsonb_build_object('from', 'waiting', 'to', 'queued', 'gate', gate_key) FROM moved m
    )
    SELECT m.id, m.queue, false FROM moved m;
END $$;
