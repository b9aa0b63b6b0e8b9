-- How many tasks may start at a gate now, and if none, why. To be called under the gate's lock, in a statement after
-- the one that locked it: otherwise slots are counted as they were before the wait. Judges the breaker on the way.
-- A slot that a task keeps already does not stand in its own way.
CREATE OR REPLACE FUNCTION callboard.gate_room(gate_key text, for_task text, OUT room integer, OUT reason text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
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
