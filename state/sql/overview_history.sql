-- The minutes of the last hour that are measured, oldest first, also those in which nothing happened.
WITH bounds AS MATERIALIZED (
    SELECT date_trunc('minute', least(p.measured_until, callboard.now())) AS ends FROM callboard.metrics_progress p
), happened AS (
    SELECT q.minute, q.tasks_created, q.tasks_completed, q.tasks_failed, q.attempts, q.attempts_failed, q.latency_sum,
           q.run_sum
    FROM bounds b JOIN callboard.task_queue_metrics q ON q.minute >= b.ends - interval '1 hour' AND q.minute < b.ends
    WHERE %(scope)s::text IS NULL AND q.actor <> ''
    UNION ALL
    SELECT q.minute, q.tasks_created, q.tasks_completed, q.tasks_failed, q.attempts, q.attempts_failed, q.latency_sum,
           q.run_sum
    FROM bounds b JOIN callboard.tenant_metrics q ON q.minute >= b.ends - interval '1 hour' AND q.minute < b.ends
    WHERE q.tenant = %(scope)s
)
SELECT m.minute, coalesce(sum(h.tasks_created), 0)::bigint AS created,
       coalesce(sum(h.tasks_completed), 0)::bigint AS completed, coalesce(sum(h.tasks_failed), 0)::bigint AS died,
       coalesce(sum(h.attempts), 0)::bigint AS attempts, coalesce(sum(h.attempts_failed), 0)::bigint AS attempts_failed,
       (sum(h.latency_sum - h.run_sum) / nullif(sum(h.tasks_completed) FILTER (WHERE h.run_sum IS NOT NULL), 0)
       ) AS start_seconds,
       sum(h.run_sum) / nullif(sum(h.tasks_completed) FILTER (WHERE h.run_sum IS NOT NULL), 0) AS run_seconds
FROM bounds b, generate_series(b.ends - interval '1 hour', b.ends - interval '1 minute', interval '1 minute') AS m (minute)
LEFT JOIN happened h ON h.minute = m.minute
GROUP BY m.minute ORDER BY m.minute
