DROP VIEW IF EXISTS admin.invariants;
CREATE VIEW admin.invariants AS
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
  AND t.last_event <> (SELECT count(*) FROM callboard.events e WHERE e.task_id = t.id)
UNION ALL
SELECT 'two running at one target', min(t.id), coalesce(t.tenant, '') || '/' || t.target
FROM callboard.tasks t
WHERE t.status = 'running' AND t.target IS NOT NULL
GROUP BY t.tenant, t.target HAVING count(*) > 1;

COMMENT ON VIEW admin.invariants IS 'What must never be: a row here means a bug.';
