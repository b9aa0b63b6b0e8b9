-- Ends a sandbox, unless some of its processes could not be killed: then these are noted.
UPDATE callboard.sandboxes
SET ended_at = CASE WHEN cardinality(%(survivors)s::integer[]) = 0 THEN callboard.now() END,
    killed = killed + %(killed)s, survivors = %(survivors)s, survivor_ticks = %(survivor_ticks)s
WHERE id = %(id)s AND ended_at IS NULL
