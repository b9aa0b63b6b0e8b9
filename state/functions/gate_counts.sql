-- Whether anything is counted at a gate. Claims lock the row of a gate that counts; of other gates they lock the key,
-- shared.
CREATE OR REPLACE FUNCTION callboard.gate_counts(g callboard.gates) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT g.max_concurrent IS NOT NULL OR g.rate_count IS NOT NULL OR g.breaker_threshold IS NOT NULL $$;

-- The advisory lock of a gate's key. Statements that create the gate's row or make it count hold it exclusively, as do
-- claims at a target; claims at a gate that does not count hold it shared.
CREATE OR REPLACE FUNCTION callboard.gate_lock(gate_key text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtextextended(gate_key, 7) $$;
