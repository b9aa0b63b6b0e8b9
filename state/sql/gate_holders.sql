-- In the order of their ids, which is about that of arrival.
SELECT t.id AS task_id, t.actor, t.queue, t.tenant, t.attempt, t.priority, l.worker_id, l.started_at AS since,
       (t.progress ->> 'percent')::double precision AS percent, l.cancel_requested
FROM callboard.slots s
JOIN callboard.leases l ON l.task_id = s.task_id
JOIN callboard.tasks t ON t.id = s.task_id
WHERE s.gate = %(gate)s AND s.task_id > %(after)s
ORDER BY s.task_id
LIMIT %(limit)s
