-- Keeps a place at a gate for a task for half a minute. Returns false if a place is kept for another task, or if
-- another session has locked the reservation: waits for no lock. Called under the gate's lock.
CREATE OR REPLACE FUNCTION callboard.reserve(gate_key text, for_task text) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    there callboard.reservations;
    until timestamptz := callboard.now() + interval '30 seconds';
BEGIN
    SELECT * INTO there FROM callboard.reservations r WHERE r.gate = gate_key FOR UPDATE SKIP LOCKED;
    IF FOUND AND there.expires_at <= callboard.now() THEN
        UPDATE callboard.reservations r SET task_id = for_task, expires_at = until WHERE r.gate = gate_key;
        RETURN true;
    ELSIF NOT EXISTS (SELECT FROM callboard.reservations r WHERE r.gate = gate_key) THEN
        INSERT INTO callboard.reservations (gate, task_id, expires_at) VALUES (gate_key, for_task, until);
        RETURN true;
    END IF;
    RETURN false;
END $$;
