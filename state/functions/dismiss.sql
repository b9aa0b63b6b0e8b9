-- Dead letters that nobody wants any more.
CREATE OR REPLACE FUNCTION callboard.dismiss(ids text[]) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, before text, status text, gates text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.hidden_at IS NULL
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'canceled', finished_at = callboard.now(), last_event = t.last_event + 1, updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status', '{"from": "dead", "to": "canceled", "reason": "dismissed"}', callboard.now()
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, 'dead', 'canceled', m.gates FROM moved m;
END $$;
