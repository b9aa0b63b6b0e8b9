-- Whether anything is counted at a gate. Claims lock the row of such a gate; of the others only their key, shared.
CREATE OR REPLACE FUNCTION callboard.gate_counts(g callboard.gates) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT g.max_concurrent IS NOT NULL OR g.rate_count IS NOT NULL OR g.breaker_threshold IS NOT NULL $$;

-- The advisory lock of a gate's key. Exclusive for everything that creates the gate's row or makes it count, and for
-- claims at a target; shared for claims at a gate that does not count.
CREATE OR REPLACE FUNCTION callboard.gate_lock(gate_key text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtextextended(gate_key, 7) $$;
