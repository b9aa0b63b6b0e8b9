-- In the order of the line. `place` is the number of tasks before this page.
SELECT w.task_id, w.actor, w.queue, w.tenant, w.attempt, w.priority, w.rank, w.since, w.reason,
       %(place)s + w.n AS position, callboard.estimate_wait(%(gate)s, g, w.actor, %(place)s + w.n) AS eta_seconds
FROM (
    SELECT t.id AS task_id, t.actor, t.queue, t.tenant, t.attempt, t.priority, t.rank, t.updated_at AS since,
           t.waiting_reason AS reason, row_number() OVER (ORDER BY t.priority, t.rank, t.id) AS n
    FROM callboard.tasks t
    WHERE t.status = 'waiting' AND t.waiting_gate = %(gate)s
      AND (t.priority, t.rank, t.id) > (%(priority)s, %(rank)s, %(after)s)
    ORDER BY t.priority, t.rank, t.id
    LIMIT %(limit)s
) AS w LEFT JOIN callboard.gates g ON g.key = %(gate)s
ORDER BY w.n
