-- Tasks near the head of these queues whose actor no worker knows wait at the gate `actor:<name>` until one does. Tasks of
-- actors that another worker knows are left where they are.
CREATE OR REPLACE FUNCTION callboard.park_unknown(unknown_actors text[], queue_names text[]) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    found_ids text[];
    parked integer;
    -- As a variable, for rows that are looked up by id: no index of all queued tasks then looks like a way to find them.
    in_queue constant text := 'queued';
BEGIN
    SELECT array_agg(h.id ORDER BY h.id) INTO found_ids
    FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
         LATERAL (
            SELECT t.id, t.actor
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.actor = ANY (ARRAY(
        SELECT a FROM unnest(unknown_actors) AS a WHERE NOT callboard.actor_is_known(a, q.queue)));
    WITH strange AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.id = ANY (found_ids) AND t.status = in_queue
        FOR NO KEY UPDATE SKIP LOCKED
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'waiting', waiting_gate = 'actor:' || t.actor, waiting_reason = 'no worker knows this actor',
            woken_for = NULL, woken_at = NULL, last_event = t.last_event + 1, updated_at = callboard.now()
        FROM strange s WHERE t.id = s.id
        RETURNING t.id, t.last_event, t.waiting_gate
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_build_object('from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate,
                                  'reason', 'no worker knows this actor'),
               callboard.now()
        FROM moved m
    )
    SELECT count(*) INTO parked FROM moved;
    RETURN parked;
END $$;
