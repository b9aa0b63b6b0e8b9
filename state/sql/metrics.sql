-- Newest first. Lists whole periods: all that overlap with the time from `since` (without it: `span` earlier) to `until`
-- (without it: now). The days that are over are in a table of their own; anything else is added up from the minutes that
-- are measured. The `before_` parameters are the last row of the page before.
WITH asked AS MATERIALIZED (
    SELECT date_trunc(%(resolution)s, coalesce(%(since)s::timestamptz, u.until - %(span)s::interval), 'UTC') AS begins,
           least(date_trunc(%(resolution)s, u.until - interval '1 microsecond', 'UTC') + ('1 ' || %(resolution)s)::interval,
                 %(before_period)s::timestamptz + ('1 ' || %(resolution)s)::interval,
                 date_trunc('minute', p.measured_until)) AS ends,
           CASE WHEN %(resolution)s = 'day' THEN date_trunc('day', p.measured_until, 'UTC') ELSE '-infinity' END AS today
    FROM callboard.metrics_progress p, (SELECT coalesce(%(until)s::timestamptz, callboard.now()) AS until) AS u
), periods AS NOT MATERIALIZED (
    SELECT date_trunc(%(resolution)s, q.minute, 'UTC') AS period, q.actor, q.agent_name, q.task_type,
           q.tasks_created, q.tasks_completed, q.tasks_failed, q.attempts, q.attempts_failed, q.latency_sum,
           q.latency_max, q.heartbeats, q.heartbeat_delay_sum, q.worker_heartbeat_delay
    FROM asked a JOIN callboard.task_queue_metrics q ON q.minute >= greatest(a.begins, a.today) AND q.minute < a.ends
    UNION ALL
    SELECT d.day::timestamp AT TIME ZONE 'UTC', d.actor, d.agent_name, d.task_type,
           d.tasks_created, d.tasks_completed, d.tasks_failed, d.attempts, d.attempts_failed, d.latency_sum,
           d.latency_max, d.heartbeats, d.heartbeat_delay_sum, d.worker_heartbeat_delay
    FROM asked a JOIN callboard.task_queue_metrics_daily d
      ON d.day >= (a.begins AT TIME ZONE 'UTC')::date AND d.day < (least(a.ends, a.today) AT TIME ZONE 'UTC')::date
), listed AS MATERIALIZED (
    SELECT p.period, p.actor, p.agent_name, p.task_type,
           sum(p.tasks_created)::bigint AS tasks_created, sum(p.tasks_completed)::bigint AS tasks_completed,
           sum(p.tasks_failed)::bigint AS tasks_failed, sum(p.attempts)::bigint AS attempts,
           sum(p.attempts_failed)::bigint AS attempts_failed, sum(p.latency_sum) AS latency_sum,
           max(p.latency_max) AS latency_max
    FROM periods p
    WHERE p.actor <> ''
      AND (%(actor)s::text IS NULL OR p.actor = %(actor)s)
      AND (%(agent_name)s::text IS NULL OR p.agent_name = %(agent_name)s)
      AND (%(task_type)s::text IS NULL OR p.task_type = %(task_type)s)
      AND (%(before_period)s::timestamptz IS NULL
           OR p.period < %(before_period)s
           OR (p.actor, p.agent_name, p.task_type) > (%(before_actor)s, %(before_agent)s, %(before_type)s))
    GROUP BY p.period, p.actor, p.agent_name, p.task_type
    ORDER BY p.period DESC, p.actor, p.agent_name, p.task_type
    LIMIT %(limit)s
), delays AS (
    SELECT p.period, max(p.worker_heartbeat_delay) AS greatest,
           sum(p.heartbeat_delay_sum) / nullif(sum(p.heartbeats), 0) AS average
    FROM periods p WHERE p.actor = '' AND p.period >= (SELECT min(l.period) FROM listed l)
    GROUP BY p.period
)
SELECT l.period, l.actor, l.agent_name, l.task_type, l.tasks_created, l.tasks_completed, l.tasks_failed, l.attempts,
       l.attempts_failed, l.attempts_failed::double precision / nullif(l.attempts, 0) AS error_rate,
       l.latency_sum / nullif(l.tasks_completed, 0) AS average_latency, l.latency_max AS greatest_latency,
       d.greatest AS worker_heartbeat_delay, d.average AS average_heartbeat_delay
FROM listed l LEFT JOIN delays d ON d.period = l.period
ORDER BY l.period DESC, l.actor, l.agent_name, l.task_type
