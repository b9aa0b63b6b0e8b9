DROP VIEW IF EXISTS admin.invariants;
CREATE VIEW admin.invariants AS
WITH months AS MATERIALIZED (
    SELECT substring(b.bound FROM 'FROM \(''(.*?)''\)') COLLATE "C" AS first_one,
           substring(b.bound FROM 'TO \(''(.*?)''\)') COLLATE "C" AS past
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL pg_get_expr(c.relpartbound, c.oid) AS b (bound)
    WHERE i.inhparent = 'callboard.events'::regclass AND b.bound LIKE 'FOR VALUES FROM (''tq\_%'
), detached AS MATERIALIZED (
    -- Where somebody has detached a partition: its tasks have no history, which is no bug.
    SELECT m.past AS first_one, (SELECT min(n.first_one) FROM months n WHERE n.first_one >= m.past) AS past
    FROM months m
    WHERE NOT EXISTS (SELECT FROM months n WHERE n.first_one <= m.past AND n.past > m.past)
      AND EXISTS (SELECT FROM months n WHERE n.first_one > m.past)
    UNION ALL
    SELECT 'tq_', min(m.first_one) FROM months m
)
SELECT 'running without its lease' AS invariant, t.id AS task_id, NULL::text AS gate
FROM callboard.tasks t
WHERE t.status = 'running'
  AND NOT EXISTS (SELECT FROM callboard.leases l WHERE l.task_id = t.id AND l.epoch = t.epoch)
UNION ALL
SELECT 'lease without its running task', l.task_id, NULL
FROM callboard.leases l
WHERE NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.id = l.task_id AND t.epoch = l.epoch AND t.status = 'running')
UNION ALL
SELECT 'slot without its lease', s.task_id, s.gate
FROM callboard.slots s
WHERE NOT EXISTS (SELECT FROM callboard.leases l WHERE l.task_id = s.task_id AND l.epoch = s.epoch)
UNION ALL
SELECT 'running without a slot at one of its gates', t.id, k.key
FROM callboard.tasks t, unnest(t.gates) AS k (key)
WHERE t.status = 'running'
  AND NOT EXISTS (SELECT FROM callboard.slots s WHERE s.gate = k.key AND s.task_id = t.id AND s.epoch = t.epoch)
UNION ALL
SELECT 'place reserved for a task that neither waits nor is queued', r.task_id, r.gate
FROM callboard.reservations r
WHERE r.expires_at > callboard.now()
  AND NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.id = r.task_id AND t.status IN ('queued', 'waiting'))
UNION ALL
SELECT 'waiting at no gate', t.id, NULL FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate IS NULL
UNION ALL
SELECT 'attempts beyond the limit', t.id, NULL FROM callboard.tasks t WHERE t.attempt > t.max_attempts
UNION ALL
SELECT 'history with a gap', t.id, NULL
FROM callboard.tasks t
WHERE t.status IN ('running', 'paused', 'dead')
  AND t.last_event <> (SELECT count(*) FROM callboard.events e WHERE e.task_id = t.id) AND NOT EXISTS (
        SELECT FROM detached x
        WHERE t.id >= x.first_one AND t.id < x.past
          AND NOT EXISTS (SELECT FROM callboard.events e WHERE e.task_id = t.id AND e.n = 1))
UNION ALL
SELECT 'run without its task', r.id, NULL
FROM callboard.runs r WHERE NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.id = r.id AND t.actor = 'project_run')
UNION ALL
SELECT 'run that has ended otherwise than its task', r.id, NULL
FROM callboard.runs r JOIN callboard.tasks t ON t.id = r.id
WHERE r.outcome IS DISTINCT FROM CASE WHEN t.status IN (/*finished*/) THEN t.status END
UNION ALL
SELECT 'queue of a project that does not fit its runs', p.id, NULL
FROM callboard.projects p LEFT JOIN callboard.runs r ON r.project_id = p.id AND r.ended_at IS NULL
WHERE p.mode IS DISTINCT FROM r.mode
UNION ALL
SELECT 'item in progress without its live run', i.id, NULL
FROM callboard.project_items i
WHERE i.status = 'in_progress'
  AND NOT EXISTS (SELECT FROM callboard.runs r WHERE r.id = i.run_id AND r.item_id = i.id AND r.ended_at IS NULL)
UNION ALL
SELECT 'live run whose item is not in progress', r.id, NULL
FROM callboard.runs r JOIN callboard.project_items i ON i.id = r.item_id
WHERE r.ended_at IS NULL AND (i.status <> 'in_progress' OR i.run_id <> r.id)
UNION ALL
SELECT 'history with a gap', p.id, NULL
FROM callboard.projects p
WHERE p.last_event <> (SELECT count(*) FROM callboard.events e WHERE e.task_id = p.id)
UNION ALL
SELECT 'agent event without its embedding job', e.task_id, NULL
FROM callboard.agent_events e
WHERE NOT EXISTS (SELECT FROM callboard.tasks j WHERE j.id = e.job_id)
UNION ALL
SELECT 'webhook event without its delivery', t.id, NULL
FROM callboard.tasks t JOIN callboard.events e ON e.task_id = t.id AND e.kind = 'status' AND e.data ->> 'from' IS NOT NULL
WHERE t.webhook_url IS NOT NULL AND e.data ->> 'to' = ANY (t.webhook_events)
  AND NOT EXISTS (SELECT FROM callboard.webhook_deliveries d WHERE d.task_id = t.id AND d.n = e.n)
UNION ALL
SELECT 'webhook delivery without its task or event', d.delivery_id, NULL
FROM callboard.webhook_deliveries d
WHERE NOT EXISTS (SELECT FROM callboard.tasks t WHERE t.id = d.delivery_id AND t.actor = 'webhook')
   OR NOT EXISTS (SELECT FROM callboard.events e WHERE e.task_id = d.task_id AND e.n = d.n AND e.kind = 'status')
      AND NOT EXISTS (
        SELECT FROM detached x
        WHERE d.task_id >= x.first_one AND d.task_id < x.past
          AND NOT EXISTS (SELECT FROM callboard.events e WHERE e.task_id = d.task_id AND e.n = 1))
UNION ALL
SELECT 'two running at one target', min(t.id), coalesce(t.tenant, '') || '/' || t.target
FROM callboard.tasks t
WHERE t.status = 'running' AND t.target IS NOT NULL
GROUP BY t.tenant, t.target HAVING count(*) > 1
UNION ALL
SELECT 'step running without a live task', s.workflow_id, s.key
FROM callboard.workflow_steps s
WHERE s.status = 'running'
  AND NOT EXISTS (SELECT FROM callboard.tasks t
                  WHERE t.workflow_id = s.workflow_id AND t.step = s.key AND t.status NOT IN (/*finished*/))
UNION ALL
SELECT 'step ended with a live task', s.workflow_id, s.key
FROM callboard.workflow_steps s
WHERE s.status IN ('pending', 'completed', 'canceled')
  AND EXISTS (SELECT FROM callboard.tasks t
              WHERE t.workflow_id = s.workflow_id AND t.step = s.key AND t.status NOT IN (/*finished*/))
UNION ALL
SELECT 'step started before another that it comes after', s.workflow_id, s.key
FROM callboard.workflow_steps s, unnest(s.after) AS a (key)
JOIN callboard.workflow_steps d ON d.key = a.key
WHERE d.workflow_id = s.workflow_id AND s.status IN ('running', 'waiting', 'completed') AND d.status <> 'completed'
UNION ALL
SELECT 'approval open in a workflow that is over', s.workflow_id, s.key
FROM callboard.workflow_steps s JOIN callboard.workflows w ON w.id = s.workflow_id
WHERE s.status = 'waiting' AND w.status NOT IN ('running', 'failed', 'escalated')
UNION ALL
SELECT 'workflow running with nothing alive', w.id, NULL
FROM callboard.workflows w WHERE w.status = 'running' AND NOT callboard.workflow_lives(w.id)
UNION ALL
SELECT 'history of a workflow with a gap', w.id, NULL
FROM callboard.workflows w
WHERE w.last_event <> (SELECT count(*) FROM callboard.events e WHERE e.task_id = w.id);

COMMENT ON VIEW admin.invariants IS 'What must never be: a row here means a bug.';
