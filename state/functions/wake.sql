-- For workers of release 15, which wake several gates in one transaction. A gate that another session has locked is
-- left to the sweep.
CREATE OR REPLACE FUNCTION callboard.wake(gate_keys text[]) RETURNS TABLE (id text, queue text) LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY
    SELECT w.id, w.queue
    FROM (SELECT DISTINCT k.key COLLATE "C" AS key FROM unnest(gate_keys) AS k (key) ORDER BY 1) AS g,
         LATERAL callboard.wake_gate(g.key) AS w
    WHERE NOT w.busy;
END $$;
