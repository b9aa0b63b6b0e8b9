-- Reads new events of all watched tasks in one query.
SELECT e.task_id AS id, e.n, e.kind, e.data, e.at
FROM unnest(%(ids)s::text[], %(afters)s::integer[]) AS w (id, after),
     LATERAL (
        SELECT e.task_id, e.n, e.kind, e.data, e.at
        FROM callboard.events e
        WHERE e.task_id = w.id AND e.n > w.after
        ORDER BY e.n
        LIMIT %(limit)s
     ) e
ORDER BY e.task_id, e.n
