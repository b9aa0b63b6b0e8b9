-- A task that nobody runs is canceled here and now; a running one is asked to stop, its worker sees it at the next
-- pulse. Whatever is finished stays as it is: no row, no answer.
WITH mine AS MATERIALIZED (
    SELECT id, status, epoch FROM callboard.tasks
    WHERE id = %(id)s AND status IN ('scheduled', 'queued', 'waiting', 'paused', 'running')
    FOR NO KEY UPDATE
), asked AS (
    UPDATE callboard.tasks t
    SET status = CASE WHEN m.status = 'running' THEN 'running' ELSE 'canceled' END,
        cancel_requested = CASE WHEN m.status = 'running' AND t.cancel_requested = 'force' THEN 'force' -- it stays so
                                WHEN m.status = 'running' THEN %(request)s END,
        finished_at = CASE WHEN m.status <> 'running' THEN callboard.now() END,
        waiting_gate = NULL,
        waiting_reason = NULL,
        woken_for = NULL,
        woken_at = NULL,
        last_event = t.last_event + 1,
        updated_at = callboard.now()
    FROM mine m
    WHERE t.id = m.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.gates, t.last_event, m.status AS before, t.status, t.cancel_requested
), told AS (
    UPDATE callboard.leases l SET cancel_requested = a.cancel_requested
    FROM asked a WHERE l.task_id = a.id AND a.status = 'running'
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT a.id, a.last_event,
           CASE WHEN a.status = 'running' THEN 'control' ELSE 'status' END,
           CASE WHEN a.status = 'running'
                THEN jsonb_build_object('stage', 'requested', 'request', %(request)s::text)
                ELSE jsonb_build_object('from', a.before, 'to', 'canceled') END,
           callboard.now()
    FROM asked a
)
SELECT a.id, a.epoch, a.actor, a.queue, a.gates, a.before, a.status FROM asked a
