-- Adds the minutes of each day up to the day's rows, from one day to before another. The caller has locked
-- metrics_progress.
CREATE OR REPLACE FUNCTION callboard.add_up_days(begins date, ends date) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM callboard.task_queue_metrics_daily d WHERE d.day >= begins AND d.day < ends;
    INSERT INTO callboard.task_queue_metrics_daily (
        day, actor, agent_name, task_type, tasks_created, tasks_completed, tasks_failed, attempts, attempts_failed,
        latency_sum, latency_max, heartbeats, heartbeat_delay_sum, worker_heartbeat_delay)
    SELECT (q.minute AT TIME ZONE 'UTC')::date, q.actor, q.agent_name, q.task_type, sum(q.tasks_created),
           sum(q.tasks_completed), sum(q.tasks_failed), sum(q.attempts), sum(q.attempts_failed), sum(q.latency_sum),
           max(q.latency_max), sum(q.heartbeats), sum(q.heartbeat_delay_sum), max(q.worker_heartbeat_delay)
    FROM callboard.task_queue_metrics q
    WHERE q.minute >= begins::timestamp AT TIME ZONE 'UTC' AND q.minute < ends::timestamp AT TIME ZONE 'UTC'
    GROUP BY 1, 2, 3, 4;
END $$;
