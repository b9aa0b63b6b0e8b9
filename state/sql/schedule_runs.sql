-- The history of a schedule, newest first.
SELECT r.n, r.schedule_id, r.tick, r.outcome, r.task_id, t.status AS task_status, r.missed, r.reason, r.asked_by, r.created_at
FROM callboard.schedule_runs r LEFT JOIN callboard.tasks t ON t.id = r.task_id
WHERE r.schedule_id = %(schedule_id)s AND (%(before)s::integer IS NULL OR r.n < %(before)s::integer)
ORDER BY r.n DESC
LIMIT %(limit)s
