-- What running code has to say: the latest progress, what it used, and lines for the history, of many tasks at once.
WITH input AS MATERIALIZED (
    SELECT i.*, jsonb_array_length(i.events) AS lines FROM jsonb_to_recordset(%(reports)s) AS i (
        id text, epoch integer, progress jsonb, tokens bigint, cost numeric, events jsonb)
), mine AS MATERIALIZED (
    SELECT t.id
    FROM input i JOIN callboard.tasks t ON t.id = i.id
    WHERE t.epoch = i.epoch AND t.status = 'running'
    ORDER BY t.id
    FOR NO KEY UPDATE OF t
), noted AS (
    UPDATE callboard.tasks t
    SET progress = coalesce(i.progress || jsonb_build_object('updated_at', callboard.now()), t.progress),
        tokens = t.tokens + i.tokens,
        cost = t.cost + i.cost,
        last_event = t.last_event + i.lines,
        updated_at = callboard.now()
    FROM input i JOIN mine ON mine.id = i.id
    WHERE t.id = i.id
    RETURNING t.id, t.epoch, t.last_event - i.lines AS before, i.events
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT n.id, n.before + e.place, e.line ->> 'kind', e.line -> 'data', callboard.now()
    FROM noted n, jsonb_array_elements(n.events) WITH ORDINALITY AS e (line, place)
)
SELECT n.id, n.epoch FROM noted n
