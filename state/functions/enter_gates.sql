-- Writes what tasks that are about to start occupy at their gates: a slot of their next epoch at each gate, a numbered
-- start at gates with a rate, the probe of a half-open breaker. Called under the locks of the gates.
CREATE OR REPLACE FUNCTION callboard.enter_gates(starting text[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    keys text[];
BEGIN
    WITH entered AS (
        INSERT INTO callboard.slots (gate, task_id, epoch)
        SELECT DISTINCT k.key, t.id, t.epoch + 1
        FROM callboard.tasks t, unnest(t.gates) AS k (key)
        WHERE t.id = ANY (starting)
        ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch
        RETURNING gate
    )
    SELECT array_agg(g.key) INTO keys FROM callboard.gates g
    WHERE g.key = ANY (ARRAY(SELECT e.gate FROM entered e)) AND (g.rate_count IS NOT NULL OR g.breaker_state = 'half_open');
    IF keys IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO callboard.gate_starts (gate, at, n)
    SELECT g.key, callboard.now(),
           coalesce((SELECT s.n FROM callboard.gate_starts s WHERE s.gate = g.key ORDER BY s.n DESC LIMIT 1), 0)
               + row_number() OVER (PARTITION BY g.key)
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (starting) AND g.key = ANY (keys) AND g.rate_count IS NOT NULL;

    UPDATE callboard.gates g
    SET probe_task = p.id, probe_epoch = p.epoch
    FROM (SELECT DISTINCT ON (k.key) k.key, t.id, t.epoch + 1 AS epoch
          FROM callboard.tasks t, unnest(t.gates) AS k (key)
          WHERE t.id = ANY (starting) AND k.key = ANY (keys) ORDER BY k.key, t.id) AS p
    WHERE g.key = p.key AND g.breaker_state = 'half_open' AND g.probe_task IS NULL;
END $$;
