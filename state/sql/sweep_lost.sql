-- Takes tasks from workers that are gone. A worker is gone if a sibling has proved that the process is dead; or if its
-- lease has run out on the database's clock (or was written before that clock was stepped back), and an observer, which
-- names the worker and its last renewal, has seen no other renewal for as long on a clock of its own. The lease rows
-- themselves are locked and read again, so that a renewal that is under way wins. Locked rows are skipped.
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
    WHERE t.status = 'running' AND /*try_lock_parent*/
    ORDER BY t.id
    FOR NO KEY UPDATE OF t SKIP LOCKED
), numbered AS (
    SELECT mine.*, row_number() OVER (PARTITION BY next, queue, priority, tenant ORDER BY available_at, id) - 1 AS place
    FROM mine
), ranked AS (
    SELECT numbered.*, max(CASE WHEN place = 0 THEN callboard.entry_rank(queue, 'retry', priority, tenant) END)
                OVER (PARTITION BY next, queue, priority, tenant) AS first_rank
    FROM numbered
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
        finished_at = CASE WHEN r.next IN (/*finished*/) THEN callboard.now() END,
        progress = NULL,
        worker_id = NULL,
        cancel_requested = NULL,
        /*count_move*/
    FROM ranked r
    WHERE t.id = r.id
    RETURNING /*moved_task*/, 'running' AS before, t.error, t.attempt AS nth, 'lost' AS ended_as, r.worker_id, r.started_at
), /*end_execution*/, logged AS (
    /*log_move*/ jsonb_build_object('from', m.before, 'to', m.status, 'attempt', m.nth, 'reason', 'worker lost',
                                    'error', m.error - 'traceback')
    FROM moved m
)
SELECT /*move_result*/, m.worker_id FROM moved m
