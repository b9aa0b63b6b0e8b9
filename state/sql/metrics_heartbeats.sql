-- Adds samples of the workers' delays to the cluster's row of a minute.
INSERT INTO callboard.task_queue_metrics AS q (minute, actor, agent_name, task_type, heartbeats, heartbeat_delay_sum,
                                               worker_heartbeat_delay)
VALUES (%(minute)s::timestamptz, '', '', '', %(heartbeats)s, %(delay_sum)s, %(delay_max)s)
ON CONFLICT (minute, actor, agent_name, task_type) DO UPDATE
SET heartbeats = q.heartbeats + excluded.heartbeats,
    heartbeat_delay_sum = q.heartbeat_delay_sum + excluded.heartbeat_delay_sum,
    worker_heartbeat_delay = greatest(q.worker_heartbeat_delay, excluded.worker_heartbeat_delay)
