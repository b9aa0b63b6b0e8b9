-- Puts a running task, whose code has not started, back into the queue with the gates that its actor names now: a deploy
-- has changed the actor's answer since the task was submitted. The attempt is given back. The gates of its tenant and its
-- target stay. Moved once already within the hour, the task also keeps the gates that it has: workers of two releases may
-- disagree. Moved `most` times, it stays as it is: the actor's answer is not always the same. A task that was asked to stop
-- also stays as it is.
-- Returns one row if the worker owns the task; `moved` says whether it was put back.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.epoch, t.actor, t.queue, t.tenant, t.worker_id, t.started_at, t.attempt, t.cancel_requested, t.gates,
           t.gate_limits,
           (SELECT count(*) FROM callboard.events e
            WHERE e.task_id = %(id)s AND e.kind = 'status' AND e.data ->> 'reason' = 'gates changed'
              AND e.at > callboard.now() - interval '1 hour') AS moves
    FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.epoch = %(epoch)s AND t.worker_id = %(worker)s AND t.status = 'running'
    FOR NO KEY UPDATE
), named AS (
    SELECT a.key, a.max_concurrent, 1 AS place
    FROM unnest(%(gates)s::text[], %(limits)s::integer[]) AS a (key, max_concurrent)
    UNION ALL
    SELECT k.key, k.max_concurrent, 2
    FROM mine m, unnest(m.gates, m.gate_limits) AS k (key, max_concurrent)
    WHERE m.moves > 0 OR k.key = 'tenant:' || m.tenant OR k.key LIKE 'target:%%'
), distinct_gates AS (
    SELECT DISTINCT ON (n.key COLLATE "C") n.key, n.max_concurrent FROM named n ORDER BY n.key COLLATE "C", n.place
), wanted AS (
    SELECT array_agg(d.key ORDER BY d.key COLLATE "C") AS gates,
           array_agg(d.max_concurrent ORDER BY d.key COLLATE "C") AS limits
    FROM distinct_gates d
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        gates = w.gates,
        gate_limits = w.limits,
        attempt = t.attempt - 1,
        progress = NULL,
        worker_id = NULL,
        /*count_move*/
    FROM mine m, wanted w
    WHERE t.id = m.id AND m.cancel_requested IS NULL AND m.moves < %(most)s
    RETURNING /*moved_task*/, 'running' AS before, t.attempt, m.attempt AS nth, 'released' AS ended_as, NULL::jsonb AS error,
              m.worker_id, m.started_at
), /*end_execution*/, logged AS (
    /*log_move*/ jsonb_build_object('from', m.before, 'to', m.status, 'attempt', m.attempt, 'reason', 'gates changed',
                                    'gates', m.gates)
    FROM moved m
)
SELECT o.id, o.epoch, o.actor, o.queue, 'queued' AS status, o.gates AS gates_before, o.cancel_requested,
       EXISTS (SELECT FROM moved) AS moved
FROM mine o
