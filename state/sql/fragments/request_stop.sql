-- CTEs that follow `moved` when a running task is asked to stop: its worker reads the request from the lease. Of
-- `moved` they read request, by (who asked; may be NULL), and is_new: whether this is the first request of its kind.
requested AS (
    UPDATE callboard.leases l SET cancel_requested = m.cancel_requested
    FROM moved m WHERE l.task_id = m.id AND m.status = 'running'
), noted AS (
    INSERT INTO callboard.events (task_id, n, kind, at, data)
    SELECT m.id, m.last_event, 'control', callboard.now(),
           jsonb_strip_nulls(jsonb_build_object('stage', 'requested', 'request', m.request, 'by', m.by))
    FROM moved m WHERE m.status = 'running' AND m.is_new
)
