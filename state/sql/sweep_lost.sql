-- Tasks whose worker is gone: its lease has run out, or a neighbor proved that the process is dead. The lease rows
-- themselves are locked (a renewal that is under way wins), and nothing is waited for while they are.
WITH over AS MATERIALIZED (
    SELECT task_id, epoch, worker_id, started_at
    FROM callboard.leases
    WHERE expires_at <= callboard.now() OR worker_id = ANY (%(dead_workers)s)
    ORDER BY task_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), mine AS MATERIALIZED (
    SELECT t.id, o.worker_id, o.started_at,
           CASE
               WHEN t.cancel_requested IN ('cancel', 'force') THEN 'canceled'
               WHEN t.cancel_requested = 'pause' THEN 'paused'
               WHEN t.attempt >= t.max_attempts OR t.expires_at <= callboard.now() THEN 'dead'
               ELSE 'queued'
           END AS next
    FROM over o JOIN callboard.tasks t ON t.id = o.task_id AND t.epoch = o.epoch
    WHERE t.status = 'running'
    ORDER BY t.id
    FOR NO KEY UPDATE OF t SKIP LOCKED
), moved AS (
    UPDATE callboard.tasks t
    SET status = mine.next,
        lane = 'retry',
        rank = callboard.entry_rank(t.queue, 'retry', t.priority, t.tenant),
        error = jsonb_build_object(
            'type', 'WorkerLost', 'category', 'transient',
            'message', CASE WHEN mine.next = 'dead' AND t.attempt >= t.max_attempts
                            THEN 'Exceeded max retries after worker failures' ELSE 'The worker stopped responding' END,
            'details', jsonb_build_object('worker_id', mine.worker_id), 'traceback', NULL),
        finished_at = CASE WHEN mine.next IN ('canceled', 'dead') THEN callboard.now() END,
        progress = NULL,
        worker_id = NULL,
        cancel_requested = NULL,
        last_event = t.last_event + 1,
        updated_at = callboard.now()
    FROM mine
    WHERE t.id = mine.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.status, t.attempt, t.last_event, t.error, t.gates, mine.worker_id,
              mine.started_at
), freed AS (
    DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
), left_gates AS (
    DELETE FROM callboard.slots s USING moved m WHERE m.gates <> '{}' AND s.task_id = m.id
), ended AS (
    INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
    SELECT id, epoch, attempt, worker_id, 'lost', error, started_at, callboard.now() FROM moved
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT id, last_event, 'status',
           jsonb_build_object('from', 'running', 'to', status, 'attempt', attempt, 'reason', 'worker lost',
                              'error', error - 'traceback'),
           callboard.now()
    FROM moved
)
SELECT id, epoch, actor, queue, gates, worker_id, 'running' AS before, status FROM moved
