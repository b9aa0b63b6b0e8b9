UPDATE callboard.gates g
SET closed_until = greatest(g.closed_until, callboard.now() + make_interval(secs => %(seconds)s))
FROM callboard.tasks t
WHERE t.id = %(task)s AND g.key = ANY (t.gates) AND g.key LIKE 'provider:%%'
