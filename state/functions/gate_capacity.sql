-- Returns how many tasks may start at a gate now. Called under the gate's lock, in a statement after the one that
-- locked it: otherwise slots are counted as they were before the wait. Judges the breaker first. The cost does not
-- grow with the number of starts or results in a window.
-- room, reason: how many may start by pause, closing, breaker and rate, and which of these is the reason; exact up to
-- `wanted`.
-- places, crowd: how many may start by the limit, and the reason if there are none. One place may be reserved for a
-- task.
CREATE OR REPLACE FUNCTION callboard.gate_capacity(
    gate_key text, wanted integer,
    OUT room integer, OUT reason text, OUT places integer, OUT crowd text, OUT reserved_for text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
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
        allowed := g.rate_count;
        SELECT s.n INTO last_start FROM callboard.gate_starts s WHERE s.gate = gate_key ORDER BY s.n DESC LIMIT 1;
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
        SELECT count(*) INTO used FROM callboard.slots s WHERE s.gate = gate_key;
        SELECT r.task_id INTO reserved_for FROM callboard.reservations r
        WHERE r.gate = gate_key AND r.expires_at > callboard.now();
        places := g.max_concurrent - used - (reserved_for IS NOT NULL)::integer;
        crowd := format('%s of %s running', used, g.max_concurrent)
            || CASE WHEN reserved_for IS NULL THEN '' ELSE ', a place is reserved' END;
    END IF;
END $$;
