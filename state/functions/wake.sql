-- Capacity has become free at these gates: as many of each line as may start go back to the queue, best first. The
-- only place that waits for a gate's lock; it holds no task then but those that it has just woken.
CREATE OR REPLACE FUNCTION callboard.wake(gate_keys text[]) RETURNS TABLE (id text, queue text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    gate_key text;
    room integer;
    on_their_way integer;
    oldest text;
BEGIN
    FOR gate_key IN SELECT DISTINCT k COLLATE "C" FROM unnest(gate_keys) AS k ORDER BY 1 LOOP
        IF NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = gate_key) THEN
            CONTINUE;
        END IF;
        oldest := NULL;
        IF gate_key LIKE 'target:%' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(gate_key, 7));
            SELECT t.id INTO oldest FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = gate_key
            ORDER BY t.created_at, t.id LIMIT 1;
            CONTINUE WHEN oldest IS NULL OR NOT (
                SELECT callboard.target_turn(t.tenant, t.target, t.created_at, t.id)
                FROM callboard.tasks t WHERE t.id = oldest);
            room := 1;
        ELSE
            PERFORM FROM callboard.gates g WHERE g.key = gate_key FOR NO KEY UPDATE;
            SELECT r.room INTO room FROM callboard.gate_room(gate_key, NULL) AS r;
            -- Those woken a moment ago have not taken their slots yet; after two seconds they are not waited for.
            SELECT count(*) INTO on_their_way FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.woken_for = gate_key AND t.woken_at > callboard.now() - interval '2 seconds';
            room := least(room - on_their_way, 1000);
        END IF;
        CONTINUE WHEN room <= 0;
        RETURN QUERY
        WITH best AS MATERIALIZED (
            SELECT t.id FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = gate_key AND (oldest IS NULL OR t.id = oldest)
            ORDER BY t.priority, t.rank, t.id
            LIMIT room
            FOR NO KEY UPDATE SKIP LOCKED
        ), woken AS (
            UPDATE callboard.tasks t
            SET status = 'queued', woken_for = gate_key, woken_at = callboard.now(), waiting_gate = NULL,
                waiting_reason = NULL, last_event = t.last_event + 1, updated_at = callboard.now()
            FROM best WHERE t.id = best.id
            RETURNING t.id, t.queue, t.last_event
        ), logged AS (
            INSERT INTO callboard.events (task_id, n, kind, data, at)
            SELECT w.id, w.last_event, 'status',
                   jsonb_build_object('from', 'waiting', 'to', 'queued', 'gate', gate_key), callboard.now()
            FROM woken w
        )
        SELECT w.id, w.queue FROM woken w;
    END LOOP;
END $$;
