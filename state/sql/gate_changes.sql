SELECT c.id, c.gate, c.at, c.origin, c.by, c.changes
FROM callboard.gate_changes c
WHERE (%(gate)s::text IS NULL OR c.gate = %(gate)s) AND (%(before)s::bigint IS NULL OR c.id < %(before)s)
ORDER BY c.id DESC
LIMIT %(limit)s
