-- Reads new events of all watched tasks in one query.
SELECT w.id, e.n, e.kind, e.data, e.at
FROM unnest(%(ids)s::text[], %(afters)s::integer[]) AS w (id, after),
     callboard.events_after(w.id, w.after, %(limit)s) AS e
ORDER BY w.id, e.n
