-- Reads the executions that have ended, and the one that runs now. Epochs only grow, so the epoch is the cursor.
SELECT a.epoch, a.attempt, a.worker_id, a.outcome, a.error, a.started_at, a.finished_at
FROM (
    SELECT epoch, attempt, worker_id, outcome, error, started_at, finished_at
    FROM callboard.attempts a WHERE a.task_id = %(id)s
  AND EXISTS (SELECT FROM callboard.tasks t WHERE t.id = %(id)s AND (/*in_scope*/ t.tenant))
    UNION ALL
    SELECT l.epoch, t.attempt, l.worker_id, NULL, NULL, l.started_at, NULL
    FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id AND t.epoch = l.epoch
    WHERE l.task_id = %(id)s AND (/*in_scope*/ t.tenant)
) AS a
WHERE a.epoch > %(after)s
ORDER BY a.epoch
LIMIT %(limit)s
