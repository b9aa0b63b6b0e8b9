-- The gates that matter now, and when the next task can start there: those that let nothing pass first, then the longest
-- lines, then those that are in use. For a tenant, only those at which its tasks wait.
WITH lines AS MATERIALIZED (
    SELECT t.waiting_gate AS key, count(*) AS waiting FROM callboard.tasks t
    WHERE t.status = 'waiting' AND (/*in_scope*/ t.tenant) GROUP BY t.waiting_gate
), uses AS MATERIALIZED (
    SELECT s.gate AS key, count(*) AS running FROM callboard.slots s GROUP BY s.gate
), listed AS MATERIALIZED (
    SELECT coalesce(g.key, l.key) AS key, g.max_concurrent, g.rate_count, g.rate_seconds, coalesce(g.paused, false) AS paused,
           CASE WHEN g.closed_until > callboard.now() THEN g.closed_until END AS closed_until,
           coalesce(g.breaker_state, 'closed') AS breaker_state,
           CASE WHEN g.breaker_state <> 'closed' THEN g.breaker_changed_at END AS breaker_changed_at,
           g.breaker_window, coalesce(g.breaker_seconds, 60) AS breaker_seconds,
           coalesce(u.running, 0) AS running, coalesce(l.waiting, 0) AS waiting
    FROM callboard.gates g FULL JOIN lines l ON l.key = g.key LEFT JOIN uses u ON u.key = coalesce(g.key, l.key)
    WHERE l.key IS NOT NULL
       OR %(scope)s::text IS NULL AND (u.key IS NOT NULL OR g.breaker_state <> 'closed' OR g.paused
                                       OR g.closed_until > callboard.now())
    ORDER BY coalesce(g.breaker_state <> 'closed', false) DESC,
             coalesce(g.paused OR g.closed_until > callboard.now(), false) DESC, coalesce(l.waiting, 0) DESC,
             coalesce(u.running, 0) DESC, coalesce(g.key, l.key)
    LIMIT %(limit)s
)
SELECT l.key, l.max_concurrent, l.rate_count, l.rate_seconds, l.paused, l.closed_until, l.breaker_state,
       l.breaker_changed_at, l.breaker_seconds, l.running, l.waiting, d.state, d.next_at, r.results, r.failed, r.error_type
FROM listed l LEFT JOIN callboard.gates g ON g.key = l.key
CROSS JOIN LATERAL callboard.describe_gate(l.key, g) AS d
LEFT JOIN LATERAL (
    -- What has opened the breaker.
    SELECT count(*) AS results, count(*) FILTER (WHERE n.failed) AS failed,
           (SELECT a.error ->> 'type' FROM callboard.gate_results f
            JOIN callboard.attempts a ON a.task_id = f.task_id AND a.epoch = f.epoch
            WHERE f.gate = l.key AND f.failed AND f.at <= l.breaker_changed_at ORDER BY f.at DESC LIMIT 1) AS error_type
    FROM (SELECT g.failed FROM callboard.gate_results g
          WHERE g.gate = l.key AND g.at > l.breaker_changed_at - make_interval(secs => l.breaker_window)
            AND g.at <= l.breaker_changed_at
          ORDER BY g.at DESC LIMIT 1000) AS n
) AS r ON l.breaker_state <> 'closed'
ORDER BY (l.breaker_state <> 'closed') DESC, (l.paused OR l.closed_until IS NOT NULL) DESC, l.waiting DESC, l.running DESC,
         l.key
