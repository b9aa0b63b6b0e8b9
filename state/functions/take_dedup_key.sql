-- Gives a dedup key to a task, unless another unfinished task holds it. Returns the id of the holder, which is the
-- task itself if it has the key now. The key's row is locked first, and the holder's status is read by the next
-- statement: a statement that had to wait for the lock would see the status as it was before. Lock order: dedup keys
-- (sorted by tenant, actor, key), then tasks. its_ttl NULL: as long as before, or a day.
CREATE OR REPLACE FUNCTION callboard.take_dedup_key(
    its_tenant text, its_actor text, its_key text, its_id text, its_ttl double precision
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    held record;
BEGIN
    LOOP
        INSERT INTO callboard.dedup (tenant, actor, key, task_id, until, ttl)
        VALUES (coalesce(its_tenant, ''), its_actor, its_key, its_id,
                callboard.now() + make_interval(secs => coalesce(its_ttl, 86400)), its_ttl)
        ON CONFLICT (tenant, actor, key) DO NOTHING;
        IF FOUND THEN
            RETURN its_id;
        END IF;
        SELECT d.task_id, d.until INTO held FROM callboard.dedup d
        WHERE d.tenant = coalesce(its_tenant, '') AND d.actor = its_actor AND d.key = its_key
        FOR UPDATE;
        EXIT WHEN FOUND;  -- otherwise the sweep has deleted it meanwhile
    END LOOP;
    IF held.task_id <> its_id AND held.until > callboard.now() AND EXISTS (
        SELECT FROM callboard.tasks t
        WHERE t.id = held.task_id AND t.status NOT IN (/*finished*/)
    ) THEN
        RETURN held.task_id;
    END IF;
    UPDATE callboard.dedup d
    SET task_id = its_id, ttl = coalesce(its_ttl, d.ttl),
        until = callboard.now() + make_interval(secs => coalesce(its_ttl, d.ttl, 86400))
    WHERE d.tenant = coalesce(its_tenant, '') AND d.actor = its_actor AND d.key = its_key;
    RETURN its_id;
END $$;

-- For submits: [{id, tenant, actor, dedup_key, dedup_ttl_seconds}], each key once. `known`: a task with this id exists,
-- so this repeats a submit whose response was lost. Then that task is returned, whichever task holds the key now.
CREATE OR REPLACE FUNCTION callboard.take_dedup_keys(asked jsonb) RETURNS TABLE (id text, holder text, known boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    wanted record;
BEGIN
    FOR wanted IN
        SELECT w.* FROM jsonb_to_recordset(asked) AS w (
            id text, tenant text, actor text, dedup_key text, dedup_ttl_seconds double precision)
        ORDER BY coalesce(w.tenant, '') COLLATE "C", w.actor COLLATE "C", w.dedup_key COLLATE "C"
    LOOP
        id := wanted.id;
        holder := callboard.take_dedup_key(
            wanted.tenant, wanted.actor, wanted.dedup_key, wanted.id, wanted.dedup_ttl_seconds);
        known := EXISTS (SELECT FROM callboard.tasks t WHERE t.id = wanted.id);
        IF known THEN
            holder := wanted.id;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
