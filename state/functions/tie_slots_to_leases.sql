-- Slots die with their lease, whoever deletes it and how.
CREATE OR REPLACE FUNCTION callboard.drop_slots() RETURNS trigger LANGUAGE plpgsql
-- Whatever the statistics say, rows are found by their keys.
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    DELETE FROM callboard.slots s WHERE s.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g));
    RETURN NULL;
END $$;

-- This waits for all that has written leases and is not committed, and holds back the rest until it is committed
-- itself: the tasks that are running now get their missing slots below, those that start later take them. (A claim of
-- the previous release that is under way takes them by the new take_slots.)
CREATE OR REPLACE TRIGGER drop_slots AFTER DELETE ON callboard.leases
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION callboard.drop_slots();

-- Tasks that were started when only gates with a limit had slots. Their leases are locked: one that ends meanwhile takes
-- its slots with it.
CREATE OR REPLACE FUNCTION callboard.backfill_slots() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM callboard.slots WHERE epoch = 0;  -- kept by tasks that do not run: reservations now
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT k.key, l.task_id, l.epoch
    FROM (SELECT task_id, epoch FROM callboard.leases ORDER BY task_id FOR KEY SHARE) AS l
    JOIN callboard.tasks t ON t.id = l.task_id AND t.epoch = l.epoch AND t.status = 'running',
         unnest(t.gates) AS k (key)
    ON CONFLICT DO NOTHING;
END $$;

SELECT callboard.backfill_slots();

-- Replaced by room_at; here, where nothing that is left calls it.
DROP FUNCTION IF EXISTS callboard.gate_room(text, text);
