-- What the tasks that have just been started occupy at their gates, while those are locked.
CREATE OR REPLACE FUNCTION callboard.take_slots(started text[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT g.key, t.id, t.epoch
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (started) AND g.max_concurrent IS NOT NULL
    ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch;

    INSERT INTO callboard.gate_starts (gate, at)
    SELECT g.key, callboard.now()
    FROM callboard.tasks t, unnest(t.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
    WHERE t.id = ANY (started) AND g.rate_count IS NOT NULL;

    UPDATE callboard.gates g
    SET probe_task = p.id, probe_epoch = p.epoch
    FROM (SELECT DISTINCT ON (k.key) k.key, t.id, t.epoch
          FROM callboard.tasks t, unnest(t.gates) AS k (key) WHERE t.id = ANY (started) ORDER BY k.key, t.id) AS p
    WHERE g.key = p.key AND g.breaker_state = 'half_open' AND g.probe_task IS NULL;
END $$;
