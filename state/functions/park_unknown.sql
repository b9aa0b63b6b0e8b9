-- Moves tasks near the head of these queues whose actor no worker knows to the line of the gate `actor:<name>`, until
-- a worker knows the actor. Tasks of actors that another worker knows stay in the queue.
CREATE OR REPLACE FUNCTION callboard.park_unknown(unknown_actors text[], queue_names text[]) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    heads record;
BEGIN
    SELECT array_agg(h.id) AS ids, array_agg(h.last_event) AS events, array_agg('actor:' || h.actor) AS gates
    INTO heads
    FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
         LATERAL (
            SELECT t.id, t.last_event, t.actor
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.actor = ANY (ARRAY(
        SELECT a FROM unnest(unknown_actors) AS a WHERE NOT callboard.actor_is_known(a, q.queue)));
    IF heads.ids IS NULL THEN
        RETURN 0;
    END IF;
    RETURN callboard.park_tasks(heads.ids, heads.events, heads.gates, 'no worker knows this actor');
END $$;
