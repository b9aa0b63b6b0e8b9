-- How executions ended: one statement and one commit for all that a process has finished since the last one.
-- A row changes only for the worker that holds its epoch; what is not in the answer was not ours any more.
WITH input AS MATERIALIZED (
    SELECT i.* FROM jsonb_to_recordset(%(outcomes)s) AS i (
        id text, epoch integer, outcome text, result jsonb, error jsonb, retry_seconds double precision)
), mine AS MATERIALIZED (
    SELECT t.id, i.outcome, i.result, i.error, coalesce(i.retry_seconds, 0) AS retry_seconds,
           CASE
               WHEN i.outcome = 'completed' THEN 'completed'
               WHEN t.cancel_requested IN ('cancel', 'force') THEN 'canceled'
               WHEN t.cancel_requested = 'pause' THEN 'paused'
               WHEN i.outcome = 'released' THEN 'queued'
               WHEN i.outcome = 'failed' AND i.retry_seconds IS NOT NULL AND t.attempt < t.max_attempts
                    AND (t.expires_at IS NULL
                         OR callboard.now() + make_interval(secs => i.retry_seconds) < t.expires_at) THEN 'scheduled'
               ELSE 'dead'
           END AS next
    FROM input i JOIN callboard.tasks t ON t.id = i.id
    WHERE t.epoch = i.epoch AND t.status = 'running'
    ORDER BY t.id
    FOR NO KEY UPDATE OF t
), moved AS (
    UPDATE callboard.tasks t
    SET status = m.next,
        result = CASE WHEN m.next = 'completed' THEN m.result END,
        error = CASE m.outcome WHEN 'failed' THEN m.error WHEN 'completed' THEN NULL ELSE t.error END,
        attempt = CASE WHEN m.outcome = 'released' THEN t.attempt - 1 ELSE t.attempt END,
        lane = CASE WHEN m.outcome = 'failed' THEN 'retry' ELSE t.lane END,
        rank = callboard.rank_now(),
        available_at = CASE WHEN m.next = 'scheduled'
            THEN callboard.now() + make_interval(secs => m.retry_seconds) ELSE t.available_at END,
        finished_at = CASE WHEN m.next IN ('completed', 'canceled', 'dead') THEN callboard.now() END,
        progress = CASE
            WHEN m.next = 'completed' THEN jsonb_build_object(
                'percent', 100, 'message', 'Completed', 'updated_at', callboard.now(), 'elapsed_ms',
                floor(extract(epoch FROM callboard.now() - t.started_at) * 1000)::bigint)
            WHEN m.next = 'queued' THEN callboard.starting_progress(t.attempt - 1)
            WHEN m.next = 'scheduled' THEN callboard.starting_progress(t.attempt)
            ELSE t.progress END,
        worker_id = NULL,
        cancel_requested = NULL,
        last_event = t.last_event + 1,
        updated_at = callboard.now()
    FROM mine m
    WHERE t.id = m.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.status, t.attempt, t.last_event, t.available_at, t.updated_at,
              m.outcome, m.error
), freed AS (
    DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
    RETURNING l.task_id, l.worker_id, l.started_at
), ended AS (
    INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
    SELECT m.id, m.epoch, m.attempt + (m.outcome = 'released')::integer, f.worker_id,
           CASE WHEN m.status IN ('canceled', 'paused') THEN m.status ELSE m.outcome END, m.error, f.started_at,
           m.updated_at
    FROM moved m JOIN freed f ON f.task_id = m.id
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT m.id, m.last_event, 'status',
           jsonb_strip_nulls(jsonb_build_object(
               'from', 'running', 'to', m.status, 'attempt', m.attempt,
               'reason', CASE WHEN m.outcome = 'released' THEN 'released' END,
               'available_at', CASE WHEN m.status = 'scheduled' THEN m.available_at END,
               'error', CASE WHEN m.error IS NOT NULL THEN m.error - 'traceback' END)),
           m.updated_at
    FROM moved m
)
SELECT m.id, m.epoch, m.actor, m.queue, m.status FROM moved m
