-- Deletes slots with their lease, whichever statement deletes it.
CREATE OR REPLACE FUNCTION callboard.drop_slots() RETURNS trigger LANGUAGE plpgsql
-- Rows are found by their keys, whatever the statistics say.
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    DELETE FROM callboard.slots s WHERE s.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_slots AFTER DELETE ON callboard.leases
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION callboard.drop_slots();
