-- Writes what running code reports: the latest progress, tokens and cost, and events, of many tasks at once. Returns
-- the tasks that still belong to the worker; a report that was written before is not written again. Without `wait`, a
-- task that another session has locked is returned as busy, and nothing is written for it.
CREATE OR REPLACE FUNCTION callboard.report(worker text, reports jsonb, wait boolean) RETURNS TABLE (
    id text, epoch integer, busy boolean
) LANGUAGE plpgsql
-- Rows are found by their keys, whatever the statistics say: they are old when a burst has just arrived.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    owned integer;
BEGIN
    IF wait THEN
        PERFORM FROM jsonb_to_recordset(reports) AS i (id text COLLATE "C", epoch integer), LATERAL (
            SELECT FROM callboard.tasks t WHERE t.id = i.id AND t.epoch = i.epoch FOR NO KEY UPDATE) AS locked;
    END IF;
    RETURN QUERY
    WITH input AS (
        SELECT i.*, jsonb_array_length(i.events) AS added FROM jsonb_to_recordset(reports) AS i (
            id text COLLATE "C", epoch integer, number integer, progress jsonb, tokens bigint, cost numeric, events jsonb)
    ), mine AS MATERIALIZED (
        SELECT i.*, t.reports
        FROM input i, LATERAL (
            SELECT t.reports FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
              AND t.worker_id = report.worker
            FOR NO KEY UPDATE SKIP LOCKED
        ) t
    ), noted AS (
        UPDATE callboard.tasks t
        SET progress = coalesce(i.progress || jsonb_build_object('updated_at', callboard.now()), t.progress),
            tokens = t.tokens + i.tokens,
            cost = t.cost + i.cost,
            last_event = t.last_event + i.added,
            reports = i.number,
            updated_at = callboard.now()
        FROM mine i
        WHERE t.id = i.id AND i.number > i.reports
        RETURNING t.id, t.last_event - i.added AS before, i.events
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
        SELECT n.id, n.before + e.place, e.event ->> 'kind', callboard.now(), e.event -> 'data'
        FROM noted n, jsonb_array_elements(n.events) WITH ORDINALITY AS e (event, place)
    )
    SELECT m.id, m.epoch, false FROM mine m;
    GET DIAGNOSTICS owned = ROW_COUNT;
    IF owned < jsonb_array_length(reports) THEN
        -- Those that were returned above come again here; the caller ignores that.
        RETURN QUERY
        SELECT i.id, i.epoch, true
        FROM jsonb_to_recordset(reports) AS i (id text COLLATE "C", epoch integer)
        JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
        WHERE t.status = 'running' AND t.worker_id = report.worker;
    END IF;
END $$;
