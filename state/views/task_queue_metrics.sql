DROP VIEW IF EXISTS admin.task_queue_metrics;
CREATE VIEW admin.task_queue_metrics AS
SELECT q.minute, q.actor, q.agent_name, q.task_type, q.tasks_created, q.tasks_completed, q.tasks_failed,
       round(q.average_latency::numeric, 3) AS average_latency, round(q.latency_max::numeric, 3) AS greatest_latency,
       q.attempts, q.attempts_failed, round(q.error_rate::numeric, 4) AS error_rate,
       round(w.worker_heartbeat_delay::numeric, 3) AS worker_heartbeat_delay
FROM callboard.metrics_progress p
JOIN callboard.task_queue_metrics q ON q.minute < date_trunc('minute', p.measured_until)
LEFT JOIN callboard.task_queue_metrics w
  ON w.minute = q.minute AND w.actor = '' AND w.agent_name = '' AND w.task_type = ''
ORDER BY q.minute DESC, q.actor, q.agent_name, q.task_type;

COMMENT ON VIEW admin.task_queue_metrics IS 'What happened in each minute of the last 30 days, by actor and agent, newest first. The row without an actor is that of the whole cluster.';
