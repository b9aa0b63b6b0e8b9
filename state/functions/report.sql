-- What running code has to say: the latest progress, what it used, and lines for the history, of many tasks at once.
-- Answers whose tasks were still the writer's; a report that was written before is not written again. Without `wait`, a
-- task that somebody else has locked is answered as busy, and nothing is written for it.
CREATE OR REPLACE FUNCTION callboard.report(worker text, reports jsonb, wait boolean) RETURNS TABLE (
    id text, epoch integer, busy boolean
) LANGUAGE plpgsql
-- Whatever the statistics say (they are old when a burst has just arrived), rows are found by their keys.
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
        SELECT i.*, jsonb_array_length(i.events) AS lines FROM jsonb_to_recordset(reports) AS i (
            id text COLLATE "C", epoch integer, number integer, progress jsonb, tokens bigint, cost numeric, events jsonb)
    ), mine AS MATERIALIZED (
        SELECT i.*, t.reports
        FROM input i, LATERAL (
            SELECT t.reports FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
              AND (report.worker IS NULL OR t.worker_id = report.worker)
            FOR NO KEY UPDATE SKIP LOCKED
        ) t
    ), noted AS (
        UPDATE callboard.tasks t
        SET progress = coalesce(i.progress || jsonb_build_object('updated_at', callboard.now()), t.progress),
            tokens = t.tokens + i.tokens,
            cost = t.cost + i.cost,
            last_event = t.last_event + i.lines,
            reports = i.number,
            updated_at = callboard.now()
        FROM mine i
        WHERE t.id = i.id AND i.number > i.reports
        RETURNING t.id, t.last_event - i.lines AS before, i.events
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT n.id, n.before + e.place, e.line ->> 'kind', e.line -> 'data', callboard.now()
        FROM noted n, jsonb_array_elements(n.events) WITH ORDINALITY AS e (line, place)
    )
    SELECT m.id, m.epoch, false FROM mine m;
    GET DIAGNOSTICS owned = ROW_COUNT;
    IF owned < jsonb_array_length(reports) THEN  -- the caller knows those that it has been answered above
        RETURN QUERY
        SELECT i.id, i.epoch, true
        FROM jsonb_to_recordset(reports) AS i (id text COLLATE "C", epoch integer)
        JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
        WHERE t.status = 'running' AND (report.worker IS NULL OR t.worker_id = report.worker);
    END IF;
END $$;

-- For workers of release 15, whose fence is the epoch alone.
CREATE OR REPLACE FUNCTION callboard.report(reports jsonb) RETURNS TABLE (id text, epoch integer) LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY SELECT r.id, r.epoch FROM callboard.report(NULL, reports, true) AS r WHERE NOT r.busy;
END $$;
