-- Tasks whose worker is gone: a sibling has proved that the process is dead; or its lease has run out on the database's
-- clock (or was written by a clock that has been stepped back since), and an observer, which names the worker and its
-- last renewal, has seen no other for as long on a clock of its own. The lease rows themselves are locked and looked at
-- again (a renewal that is under way wins), and nothing is waited for while they are.
WITH over AS MATERIALIZED (
    SELECT l.task_id, l.epoch, l.worker_id, l.started_at
    FROM callboard.leases l
    WHERE l.worker_id = ANY (%(dead_workers)s)
       OR l.worker_id = ANY (%(silent_workers)s)
          AND (l.expires_at <= callboard.now() OR l.renewed_at > callboard.now())
          AND l.renewed_at <= (%(silent_renewed)s::timestamptz[])[array_position(%(silent_workers)s::text[], l.worker_id)]
    ORDER BY l.task_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), mine AS MATERIALIZED (
    SELECT t.id, t.queue, t.priority, t.tenant, t.available_at, o.worker_id, o.started_at,
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
), lined_up AS (
    SELECT mine.*, row_number() OVER (PARTITION BY next, queue, priority, tenant ORDER BY available_at, id) - 1 AS place
    FROM mine
), ranked AS (
    SELECT lined_up.*, max(CASE WHEN place = 0 THEN callboard.entry_rank(queue, 'retry', priority, tenant) END)
                OVER (PARTITION BY next, queue, priority, tenant) AS first_rank
    FROM lined_up
), moved AS (
    UPDATE callboard.tasks t
    SET status = r.next,
        lane = 'retry',
        rank = CASE WHEN r.place = 0 THEN r.first_rank ELSE (r.first_rank / 2 + r.place) * 2 + 1 END,
        error = jsonb_build_object(
            'type', 'WorkerLost', 'category', 'transient',
            'message', CASE WHEN r.next = 'dead' AND t.attempt >= t.max_attempts
                            THEN 'Exceeded max retries after worker failures' ELSE 'The worker stopped responding' END,
            'details', jsonb_build_object('worker_id', r.worker_id), 'traceback', NULL),
        finished_at = CASE WHEN r.next IN ('canceled', 'dead') THEN callboard.now() END,
        progress = NULL,
        worker_id = NULL,
        cancel_requested = NULL,
        last_event = t.last_event + 1,
        updated_at = callboard.now()
    FROM ranked r
    WHERE t.id = r.id
    RETURNING t.id, t.epoch, t.actor, t.queue, t.status, t.attempt, t.last_event, t.error, t.gates, r.worker_id,
              r.started_at
), freed AS (
    DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
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
