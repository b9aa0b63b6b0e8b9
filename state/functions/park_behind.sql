-- The tasks near the head of these queues that wait for a full gate join its line together, so that a burst for one
-- provider does not stand in the way of the others.
CREATE OR REPLACE FUNCTION callboard.park_behind(full_gates text[], queue_names text[], but_not text[]) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    parked integer;
BEGIN
    WITH behind AS MATERIALIZED (
        SELECT h.id, h.gate
        FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
             LATERAL (
                SELECT t.id, (SELECT k FROM unnest(t.gates) AS k WHERE k = ANY (full_gates) LIMIT 1) AS gate
                FROM callboard.tasks t
                WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND t.woken_for IS NULL
                  AND t.id <> ALL (but_not)
                ORDER BY t.priority, t.rank, t.id
                LIMIT 1000
                FOR NO KEY UPDATE SKIP LOCKED
             ) h
        WHERE h.gate IS NOT NULL
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
