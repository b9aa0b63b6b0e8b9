-- Moves queued tasks to the lines of gates, each to the gate that is given for it. The caller has found them without
-- locks, so a task that has moved since (its last_event has changed) or that another session has locked is left alone.
CREATE OR REPLACE FUNCTION callboard.park_tasks(
    task_ids text[], seen_events integer[], gate_keys text[], why text
) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    parked integer;
    -- A variable, for rows that are looked up by id: with a constant the planner might scan an index of all queued
    -- tasks.
    in_queue constant text := 'queued';
BEGIN
    WITH mine AS MATERIALIZED (
        SELECT t.id, p.gate
        FROM unnest(task_ids, seen_events, gate_keys) AS p (id, last_event, gate), LATERAL (
            SELECT t.id FROM callboard.tasks t
            WHERE t.id = p.id AND t.last_event = p.last_event AND t.status = in_queue
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS t
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'waiting', waiting_gate = b.gate, waiting_reason = why, woken_for = NULL, woken_at = NULL, /*count_move*/
        FROM mine b
        WHERE t.id = b.id
        RETURNING t.id, t.last_event, t.waiting_gate, t.waiting_reason
    ), logged AS (
        /*log_move*/ jsonb_build_object(
            'from', 'queued', 'to', 'waiting', 'gate', m.waiting_gate, 'reason', m.waiting_reason)
        FROM moved m
    )
    SELECT count(*) INTO parked FROM moved;
    RETURN parked;
END $$;
