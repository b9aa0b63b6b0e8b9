-- Returns the next gates after a key that have a line, found by a loose index scan.
CREATE OR REPLACE FUNCTION callboard.lines_after(after_key text, most integer) RETURNS TABLE (key text) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
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
