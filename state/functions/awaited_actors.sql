-- Returns the actors that tasks wait for at gates `actor:<name>`, found by a loose index scan, and whether a worker
-- that has not stopped could run the first of these tasks.
CREATE OR REPLACE FUNCTION callboard.awaited_actors() RETURNS TABLE (actor text, known boolean) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
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
