SELECT q.name AS queue,
       (SELECT count(*) FROM callboard.tasks t WHERE t.status = 'queued' AND t.queue = q.name AND t.lane = 'primary') AS primary,
       (SELECT count(*) FROM callboard.tasks t WHERE t.status = 'queued' AND t.queue = q.name AND t.lane = 'retry') AS retry,
       (SELECT count(*) FROM callboard.leases l JOIN callboard.tasks t ON t.id = l.task_id WHERE t.queue = q.name) AS running,
       coalesce((SELECT g.paused FROM callboard.gates g WHERE g.key = 'queue:' || q.name), false) AS paused
FROM unnest(%(queues)s::text[]) AS q (name)
ORDER BY q.name
