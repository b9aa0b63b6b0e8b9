UPDATE callboard.gates
SET closed_until = greatest(closed_until, callboard.now() + make_interval(secs => %(seconds)s))
WHERE key = ANY (%(keys)s)
