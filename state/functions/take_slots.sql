-- For claims of release 15 that are under way while functions are replaced: they call this when they have started
-- their tasks. Claims of this release take their slots in pass_gates.
CREATE OR REPLACE FUNCTION callboard.take_slots(started text[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT DISTINCT k.key, t.id, t.epoch
    FROM callboard.tasks t, unnest(t.gates) AS k (key)
    WHERE t.id = ANY (started) AND t.status = 'running'
    ON CONFLICT (gate, task_id) DO UPDATE SET epoch = excluded.epoch;
END $$;
