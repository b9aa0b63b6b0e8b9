-- Gates in the order of their keys: those that have settings, and those without that have a line. One by its key as well
-- if it is only in use.
WITH held AS MATERIALIZED (
    SELECT DISTINCT s.gate FROM callboard.slots s WHERE %(busy)s::boolean IS NOT NULL
), keys AS MATERIALIZED (
    (SELECT g.key FROM callboard.gates g
     WHERE %(key)s::text IS NULL AND g.key > %(after)s::text AND position(lower(%(q)s::text) IN lower(g.key)) > 0
       AND (%(busy)s::boolean IS NULL OR %(busy)s::boolean = (
            callboard.gate_closure(g) IS NOT NULL OR g.key IN (SELECT h.gate FROM held h)
            OR EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = g.key)))
     ORDER BY g.key LIMIT %(limit)s::integer)
    UNION
    (SELECT l.key FROM callboard.lines_after(%(after)s::text, CASE WHEN %(q)s::text = '' THEN %(limit)s::integer ELSE 1000000 END) l
     WHERE %(key)s::text IS NULL AND %(busy)s::boolean IS DISTINCT FROM false AND position(lower(%(q)s::text) IN lower(l.key)) > 0
     LIMIT %(limit)s::integer)
    UNION
    SELECT %(key)s::text WHERE EXISTS (SELECT FROM callboard.gates g WHERE g.key = %(key)s)
                      OR EXISTS (SELECT FROM callboard.slots s WHERE s.gate = %(key)s)
                      OR EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = %(key)s)
    ORDER BY key LIMIT %(limit)s::integer
)
SELECT k.key, g.key IS NOT NULL AS has_settings, g.max_concurrent, g.declared_concurrent, g.rate_count, g.rate_seconds, g.declared_rate_count,
       g.declared_rate_seconds, coalesce(g.paused, false) AS paused, g.closed_until, g.breaker_threshold,
       coalesce(g.breaker_volume, 10) AS breaker_volume, coalesce(g.breaker_window, 60) AS breaker_window,
       coalesce(g.breaker_seconds, 60) AS breaker_seconds, g.declared_breaker_threshold, g.declared_breaker_volume,
       g.declared_breaker_window, g.declared_breaker_seconds, coalesce(g.breaker_state, 'closed') AS breaker_state,
       g.breaker_changed_at, g.probe_task, d.running, d.waiting, d.rate_left,
       d.rate_next_at, d.state, d.next_at,
       CASE WHEN %(trend)s::boolean THEN (
           SELECT array_agg(coalesce(s.running, 0) ORDER BY m.minute)
           FROM generate_series(0, 59) AS m (minute) LEFT JOIN (
               SELECT floor(extract(epoch FROM s.at - callboard.now()) / 60) + 60 AS minute, max(s.running) AS running
               FROM callboard.gate_samples s
               WHERE s.gate = k.key AND s.at > callboard.now() - interval '1 hour'
               GROUP BY 1
           ) AS s ON s.minute = m.minute) END AS trend
FROM keys k LEFT JOIN callboard.gates g ON g.key = k.key, LATERAL callboard.describe_gate(k.key, g) AS d
ORDER BY k.key
