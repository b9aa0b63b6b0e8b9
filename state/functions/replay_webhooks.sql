-- Sends events of a task to its webhook again: the ones in `asked`, or all that the webhook has chosen with a number
-- above `above`. There is one live delivery of an event at most. One that is dead, or waits for its next attempt, is
-- queued now; one that is under way is left as it is; for one that is over, there is a new task. Returns each event with
-- its delivery. If one of those asked for is no move that can be reported, nothing is sent; it is returned without an id.
CREATE OR REPLACE FUNCTION callboard.replay_webhooks(
    its_task text, above integer, asked integer[], possible text[], by_whom text
) RETURNS TABLE (
    n integer, type text, id text, epoch integer, actor text, queue text, before text, status text, gates text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    t callboard.tasks;
    event record;
    last record;
    revived jsonb;  -- the status that each had, by its id
BEGIN
    -- Two replays at once would both find that nothing is under way.
    PERFORM pg_advisory_xact_lock(hashtextextended('callboard webhooks of ' || its_task, 0));
    SELECT x.* INTO t FROM callboard.tasks x WHERE x.id = its_task;
    RETURN QUERY
    SELECT a.n, NULL, NULL, NULL::integer, NULL, NULL, NULL, NULL, NULL::text[] FROM unnest(asked) AS a (n)
    WHERE NOT EXISTS (SELECT FROM callboard.webhook_events_of(t, above, asked, possible) AS e WHERE e.n = a.n);
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT coalesce(jsonb_object_agg(r.id, r.before), '{}') INTO revived
    FROM callboard.revive_tasks(ARRAY(
        SELECT l.delivery_id
        FROM callboard.webhook_events_of(t, above, asked, possible) AS e, callboard.last_delivery(its_task, e.n) AS l
        WHERE l.status = 'dead' OR l.status = 'scheduled' AND l.lane = 'retry'), 'replayed', NULL, NULL, by_whom) AS r;
    FOR event IN SELECT e.n, e.type FROM callboard.webhook_events_of(t, above, asked, possible) AS e ORDER BY e.n LOOP
        SELECT l.delivery_id, l.status INTO last FROM callboard.last_delivery(its_task, event.n) AS l;
        IF last.delivery_id IS NULL OR last.status IN (/*finished*/) THEN
            last.delivery_id := callboard.queue_webhook(t, event.n);
            last.status := NULL;
        END IF;
        RETURN QUERY
        SELECT event.n, event.type, x.id, x.epoch, x.actor, x.queue, coalesce(revived ->> x.id, last.status), x.status, x.gates
        FROM callboard.tasks x WHERE x.id = last.delivery_id;
    END LOOP;
END $$;

-- Returns the moves of a task that can be reported and are asked for.
CREATE OR REPLACE FUNCTION callboard.webhook_events_of(
    t callboard.tasks, above integer, asked integer[], possible text[]
) RETURNS TABLE (n integer, type text) LANGUAGE sql STABLE AS $$
    SELECT e.n, 'task.' || (e.data ->> 'to') FROM callboard.events e
    WHERE e.task_id = t.id AND e.kind = 'status' AND e.data ->> 'from' IS NOT NULL AND e.data ->> 'to' = ANY (possible)
      AND CASE WHEN asked IS NULL THEN e.n > above AND e.data ->> 'to' = ANY (t.webhook_events) ELSE e.n = ANY (asked) END
$$;

-- Returns the newest delivery of an event that was not deleted.
CREATE OR REPLACE FUNCTION callboard.last_delivery(its_task text, its_n integer)
RETURNS TABLE (delivery_id text, status text, lane text) LANGUAGE sql STABLE AS $$
    SELECT d.delivery_id, j.status, j.lane
    FROM callboard.webhook_deliveries d JOIN callboard.tasks j ON j.id = d.delivery_id
    WHERE d.task_id = its_task AND d.n = its_n AND j.hidden_at IS NULL
    ORDER BY d.delivery_id DESC LIMIT 1
$$;
