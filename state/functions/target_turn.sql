-- Whether it is this task's turn at its target, given that none of the target's tasks runs: no earlier task is
-- unfinished, whatever its lane, its priority or its gate. A dead task that was deleted does not count.
CREATE OR REPLACE FUNCTION callboard.target_turn(its_tenant text, its_target text, its_created timestamptz, its_id text)
RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM callboard.tasks e
        WHERE coalesce(e.tenant, '') = coalesce(its_tenant, '') AND e.target = its_target
          AND e.status NOT IN (/*terminal*/) AND e.hidden_at IS NULL AND (e.created_at, e.id) < (its_created, its_id));
END $$;
