-- Deletes slots with their lease, whichever statement deletes it.
CREATE OR REPLACE FUNCTION callboard.drop_slots() RETURNS trigger LANGUAGE plpgsql
-- Rows are found by their keys, whatever the statistics say.
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    DELETE FROM callboard.slots s WHERE s.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g));
    RETURN NULL;
END $$;

-- Waits for every transaction that has written leases, and makes others wait until this one is committed: tasks that
-- are running now get their missing slots below, tasks that start later take them. (A claim of release 15 that is under
-- way takes them by the new take_slots.)
CREATE OR REPLACE TRIGGER drop_slots AFTER DELETE ON callboard.leases
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION callboard.drop_slots();

-- Writes the slots of tasks that release 15 has started, where only gates with a limit had slots. Their leases are
-- locked: a task that ends meanwhile takes its slots with it.
CREATE OR REPLACE FUNCTION callboard.backfill_slots() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM callboard.slots WHERE epoch = 0;  -- places that release 15 has kept for tasks that do not run; they are reservations now
    INSERT INTO callboard.slots (gate, task_id, epoch)
    SELECT k.key, l.task_id, l.epoch
    FROM (SELECT task_id, epoch FROM callboard.leases ORDER BY task_id FOR KEY SHARE) AS l
    JOIN callboard.tasks t ON t.id = l.task_id AND t.epoch = l.epoch AND t.status = 'running',
         unnest(t.gates) AS k (key)
    ON CONFLICT DO NOTHING;
END $$;

SELECT callboard.backfill_slots();

-- Replaced by gate_capacity. Dropped in the file that is applied last, when no function calls it any more.
DROP FUNCTION IF EXISTS callboard.gate_room(text, text);
