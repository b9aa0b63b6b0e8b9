-- Returns what a gate becomes when the code declares `said`. Limit, rate and breaker each follow the code, unless an
-- operator has set another value than was declared before. Code that declares no rate or no breaker does not remove
-- it: another actor may have declared it.
CREATE OR REPLACE FUNCTION callboard.follow_code(g callboard.gates, said callboard.gates) RETURNS callboard.gates
LANGUAGE plpgsql IMMUTABLE AS $$
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

-- Writes what the code declares of its gates. Waits for no lock: returns the gates that another session has locked,
-- which the caller tries again.
CREATE OR REPLACE FUNCTION callboard.declare_gates(declared jsonb) RETURNS TABLE (key text) LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    said callboard.gates;
    there callboard.gates;
    wanted callboard.gates;
    is_new boolean;
BEGIN
    FOR said IN
        SELECT i.* FROM jsonb_populate_recordset(NULL::callboard.gates, declared) AS i ORDER BY i.key
    LOOP
        SELECT * INTO there FROM callboard.gates g WHERE g.key = said.key;
        is_new := NOT FOUND;
        IF is_new THEN
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
        IF NOT is_new THEN
            PERFORM callboard.log_gate_change(there, wanted, 'code', NULL);
        END IF;
    END LOOP;
END $$;
