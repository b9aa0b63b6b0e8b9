-- Writes the rows of task_queue_metrics and tenant_metrics for a period, from the moves of tasks in events. The caller has
-- locked metrics_progress. Minutes that begin in the period are written anew (deleted first: a task whose payload was edited may
-- belong to another agent by now); if the period begins within a minute, that minute gets the rest of what it has.
CREATE OR REPLACE FUNCTION callboard.count_moves(begins timestamptz, ends timestamptz) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM callboard.task_queue_metrics q WHERE q.minute >= begins AND q.minute < ends AND q.actor <> '';
    DELETE FROM callboard.tenant_metrics q WHERE q.minute >= begins AND q.minute < ends;
    INSERT INTO callboard.task_queue_metrics AS q (minute, actor, agent_name, task_type, moves)
    SELECT date_trunc('minute', e.at), '', '', '', count(*) FROM callboard.events e
    WHERE e.kind = 'status' AND e.at >= begins AND e.at < ends
    GROUP BY 1
    ON CONFLICT (minute, actor, agent_name, task_type) DO UPDATE
    SET moves = CASE WHEN q.minute >= begins THEN 0 ELSE q.moves END + excluded.moves;
    WITH moves AS MATERIALIZED (
        SELECT e.task_id, e.n, e.at, e.data ->> 'from' AS before, e.data ->> 'to' AS after,
               -- As attempts has it: what was stopped on request, or given back, is no failure.
               e.data ->> 'from' = 'running' AND (e.data ->> 'to' IN ('scheduled', 'dead')
                                                  OR e.data ->> 'reason' IS NOT DISTINCT FROM 'worker lost') AS failed
        FROM callboard.events e
        WHERE e.kind = 'status' AND e.at >= begins AND e.at < ends
          AND (e.data ->> 'from' IS NULL OR e.data ->> 'from' = 'running' OR e.data ->> 'to' = 'dead')
    ), dated AS (
        SELECT m.*, t.actor, t.tenant,
               CASE WHEN t.actor = 'agent' THEN coalesce(t.payload ->> 'agent_name', '') ELSE '' END AS agent_name,
               CASE WHEN t.actor = 'agent' THEN coalesce(t.payload ->> 'task_type', '') ELSE '' END AS task_type,
               CASE WHEN m.after = 'completed' THEN greatest(0, extract(epoch FROM m.at - CASE
                   WHEN t.lane = 'primary' THEN greatest(t.created_at, t.available_at)
                   -- available_at is that of the last retry. A revived task counts from then, like its age.
                   ELSE coalesce(
                       (SELECT e.at FROM callboard.events e
                        WHERE e.task_id = m.task_id AND e.n < m.n AND e.kind = 'status' AND e.data ->> 'from' = 'dead'
                        ORDER BY e.n DESC LIMIT 1),
                       (SELECT e.at FROM callboard.events e
                        WHERE e.task_id = m.task_id AND e.kind = 'status' AND e.data ->> 'to' IN ('queued', 'waiting')
                        ORDER BY e.n LIMIT 1),
                       t.created_at)
                   END)) END AS latency,
               CASE WHEN m.after = 'completed' THEN greatest(0, extract(epoch FROM m.at - t.started_at)) END AS run
        FROM moves m JOIN callboard.tasks t ON t.id = m.task_id
    ), of_tenants AS (
        INSERT INTO callboard.tenant_metrics AS q (
            tenant, minute, tasks_created, tasks_completed, tasks_failed, attempts, attempts_failed, latency_sum, run_sum)
        SELECT m.tenant, date_trunc('minute', m.at),
               count(*) FILTER (WHERE m.before IS NULL),
               count(*) FILTER (WHERE m.after = 'completed'),
               count(*) FILTER (WHERE m.after = 'dead'),
               count(*) FILTER (WHERE m.after = 'completed' OR m.failed),
               count(*) FILTER (WHERE m.failed),
               coalesce(sum(m.latency), 0), coalesce(sum(m.run), 0)
        FROM dated m WHERE m.tenant IS NOT NULL
        GROUP BY 1, 2
        HAVING count(*) FILTER (WHERE m.before IS NULL OR m.after = 'completed' OR m.after = 'dead' OR m.failed) > 0
        ON CONFLICT (tenant, minute) DO UPDATE
        SET tasks_created = q.tasks_created + excluded.tasks_created,
            tasks_completed = q.tasks_completed + excluded.tasks_completed,
            tasks_failed = q.tasks_failed + excluded.tasks_failed,
            attempts = q.attempts + excluded.attempts,
            attempts_failed = q.attempts_failed + excluded.attempts_failed,
            latency_sum = q.latency_sum + excluded.latency_sum,
            run_sum = q.run_sum + excluded.run_sum
    )
    INSERT INTO callboard.task_queue_metrics AS q (
        minute, actor, agent_name, task_type, tasks_created, tasks_completed, tasks_failed, attempts, attempts_failed,
        latency_sum, latency_max, run_sum)
    SELECT date_trunc('minute', m.at), m.actor, m.agent_name, m.task_type,
           count(*) FILTER (WHERE m.before IS NULL),
           count(*) FILTER (WHERE m.after = 'completed'),
           count(*) FILTER (WHERE m.after = 'dead'),
           count(*) FILTER (WHERE m.after = 'completed' OR m.failed),
           count(*) FILTER (WHERE m.failed),
           coalesce(sum(m.latency), 0), max(m.latency), coalesce(sum(m.run), 0)
    FROM dated m
    GROUP BY 1, 2, 3, 4
    HAVING count(*) FILTER (WHERE m.before IS NULL OR m.after = 'completed' OR m.after = 'dead' OR m.failed) > 0
    ON CONFLICT (minute, actor, agent_name, task_type) DO UPDATE
    SET tasks_created = q.tasks_created + excluded.tasks_created,
        tasks_completed = q.tasks_completed + excluded.tasks_completed,
        tasks_failed = q.tasks_failed + excluded.tasks_failed,
        attempts = q.attempts + excluded.attempts,
        attempts_failed = q.attempts_failed + excluded.attempts_failed,
        latency_sum = q.latency_sum + excluded.latency_sum,
        latency_max = greatest(q.latency_max, excluded.latency_max),
        run_sum = q.run_sum + excluded.run_sum;
END $$;
