SELECT s.at, s.running, s.waiting, s.max_concurrent, s.closed_by
FROM callboard.gate_samples s
WHERE s.gate = %(gate)s AND s.at > greatest(%(since)s::timestamptz, callboard.now() - interval '1 hour')
ORDER BY s.at
LIMIT %(limit)s
