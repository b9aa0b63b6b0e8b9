-- Locks gates for a claim without waiting: returns the gates that could not be locked. Locks the row of a gate that
-- counts, the key of a target, and the key of any other gate shared, so that it cannot begin to count before the claim
-- commits. A gate without a row for which a task declares a limit gets its row here: a missing row never means open.
CREATE OR REPLACE FUNCTION callboard.lock_gates(keys text[], limits integer[]) RETURNS text[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    missing record;
    counting text[];
    busy text[] := '{}';
BEGIN
    FOR missing IN
        SELECT m.key, m.declared FROM unnest(keys, limits) AS m (key, declared)
        WHERE m.declared IS NOT NULL AND NOT EXISTS (SELECT FROM callboard.gates g WHERE g.key = m.key)
    LOOP
        -- Every session that inserts a gate holds its key: an insert that is not committed yet is not waited for.
        IF pg_try_advisory_xact_lock(callboard.gate_lock(missing.key)) THEN
            INSERT INTO callboard.gates (key, declared_concurrent, max_concurrent)
            VALUES (missing.key, missing.declared, missing.declared)
            ON CONFLICT (key) DO NOTHING;
        ELSE
            busy := busy || missing.key;
        END IF;
    END LOOP;
    SELECT coalesce(array_agg(l.key), '{}') INTO counting FROM (
        SELECT g.key FROM callboard.gates g
        WHERE g.key = ANY (keys) AND callboard.gate_counts(g)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS l;
    SELECT busy || coalesce(array_agg(k.key) FILTER (WHERE NOT k.locked), '{}') INTO busy FROM (
        SELECT key, CASE
            WHEN key LIKE 'target:%' THEN pg_try_advisory_xact_lock(callboard.gate_lock(key))
            WHEN key = ANY (counting) THEN true
            ELSE pg_try_advisory_xact_lock_shared(callboard.gate_lock(key)) END AS locked
        FROM unnest(keys) AS key
        OFFSET 0
    ) AS k;
    -- A new statement, which sees everything that was committed before the keys were locked: a gate may count by now.
    SELECT busy || coalesce(array_agg(g.key), '{}') INTO busy FROM callboard.gates g
    WHERE g.key = ANY (keys) AND callboard.gate_counts(g) AND g.key <> ALL (counting);
    RETURN busy;
END $$;
