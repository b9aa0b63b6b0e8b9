-- A task that nobody runs is paused here and now; a running one is asked to stop, its worker sees it at the next pulse.
-- A request to cancel is not taken back by one to pause. A task that has used more than its tokens could not go on after
-- the pause: it is dead.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status, t.cancel_requested, t.status <> 'running' AND t.tokens > %(token_limit)s AS spent
    FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.hidden_at IS NULL
      AND (t.status IN ('scheduled', 'queued', 'waiting')
           OR t.status = 'running' AND coalesce(t.cancel_requested, 'pause') = 'pause')
    FOR NO KEY UPDATE
), asked AS (
    UPDATE callboard.tasks t
    SET status = CASE WHEN m.status = 'running' THEN 'running' WHEN m.spent THEN 'dead' ELSE 'paused' END,
        cancel_requested = CASE WHEN m.status = 'running' THEN 'pause' END,
        error = CASE WHEN m.spent THEN jsonb_build_object(
                    'type', 'TokenLimitExceeded', 'category', 'permanent', 'traceback', NULL,
                    'message', format('The task has used %%s tokens; the limit is %%s.', t.tokens, %(token_limit)s::bigint),
                    'details', jsonb_build_object('tokens', t.tokens, 'limit', %(token_limit)s::bigint))
                ELSE t.error END,
        finished_at = CASE WHEN m.spent THEN callboard.now() END,
        waiting_gate = NULL,
        waiting_reason = NULL,
        woken_for = NULL,
        woken_at = NULL,
        last_event = t.last_event + CASE WHEN m.cancel_requested = 'pause' THEN 0 ELSE 1 END,
        updated_at = callboard.now()
    FROM mine m
    WHERE t.id = m.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event, t.error, m.status AS before, t.status,
              m.cancel_requested IS NULL AS new
), told AS (
    UPDATE callboard.leases l SET cancel_requested = 'pause'
    FROM asked a WHERE l.task_id = a.id AND a.status = 'running'
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT a.id, a.last_event,
           CASE WHEN a.status = 'running' THEN 'control' ELSE 'status' END,
           CASE a.status
               WHEN 'running' THEN '{"stage": "requested", "request": "pause"}'
               WHEN 'dead' THEN jsonb_build_object('from', a.before, 'to', 'dead', 'error', a.error)
               ELSE jsonb_build_object('from', a.before, 'to', 'paused') END,
           callboard.now()
    FROM asked a WHERE a.new
)
SELECT a.id, a.epoch, a.actor, a.queue, a.gates, a.before, a.status FROM asked a
