-- For the sweep: every gate that has a line, found by a loose index scan, gets a look; that repairs whatever a crash,
-- a lost wake-up or an operator's UPDATE has left. Two at once would only wait for each other.
CREATE OR REPLACE FUNCTION callboard.wake_lines() RETURNS TABLE (id text, queue text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
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
