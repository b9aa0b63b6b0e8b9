-- Reads the executions that have ended, and the one that runs now.
SELECT epoch, attempt, worker_id, outcome, error, started_at, finished_at
FROM callboard.attempts WHERE task_id = %(id)s
UNION ALL
SELECT l.epoch, t.attempt, l.worker_id, NULL, NULL, l.started_at, NULL
FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id AND t.epoch = l.epoch
WHERE l.task_id = %(id)s
ORDER BY epoch
