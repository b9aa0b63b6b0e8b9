-- CTEs that follow `moved` when an execution has ended: its lease goes, and its slots with it (drop_slots); it becomes
-- a row in attempts. Of `moved` they read nth, the number of the attempt, and ended_as, its outcome.
freed AS (
    DELETE FROM callboard.leases l USING moved m WHERE l.task_id = m.id
), ended AS (
    INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at)
    SELECT m.id, m.epoch, m.nth, m.worker_id, m.ended_as, m.error, m.started_at, callboard.now()
    FROM moved m
)
