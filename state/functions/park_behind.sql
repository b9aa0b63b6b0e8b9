-- The tasks near the head of these queues that wait for a full gate join its line together, so that a burst for one
-- provider does not stand in the way of the others. Looked for without locks: the tasks in between are others' to claim.
CREATE OR REPLACE FUNCTION callboard.park_behind(full_gates text[], queue_names text[], but_not text[]) RETURNS integer LANGUAGE plpgsql
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
            SELECT t.id, t.gates && full_gates AND t.id <> ALL (but_not) AS stands_behind
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND t.woken_for IS NULL
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.stands_behind;
    IF found_ids IS NULL THEN
        RETURN 0;
    END IF;
    WITH behind AS MATERIALIZED (
        SELECT t.id, (SELECT k FROM unnest(t.gates) AS k WHERE k = ANY (full_gates) LIMIT 1) AS gate
        FROM callboard.tasks t
        WHERE t.id = ANY (found_ids) AND t.status = in_queue AND t.woken_for IS NULL AND t.gates && full_gates
        FOR NO KEY UPDATE SKIP LOCKED
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'waiting', waiting_gate = b.gate, waiting_reason = 'others stand in line before it',
            last_event = t.last_event + 1, updated_at = callboard.now()
        FROM behind b WHERE t.id = b.id
        RETURNING t.id, t.last_event, t.waiting_gate
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_build_object('from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate,
                                  'reason', 'others stand in line before it'),
               callboard.now()
        FROM moved m
    )
    SELECT count(*) INTO parked FROM moved;
    RETURN parked;
END $$;
