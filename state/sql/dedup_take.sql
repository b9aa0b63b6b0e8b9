-- The first of several concurrent submits gets the key; the others wait for its commit and then get nothing.
INSERT INTO callboard.dedup (tenant, actor, key, task_id, until)
VALUES (coalesce(%(tenant)s, ''), %(actor)s, %(dedup_key)s, %(id)s,
        callboard.now() + make_interval(secs => %(dedup_ttl_seconds)s))
ON CONFLICT (tenant, actor, key) DO UPDATE SET task_id = excluded.task_id, until = excluded.until
WHERE dedup.until <= callboard.now()
   OR EXISTS (SELECT FROM callboard.tasks t
              WHERE t.id = dedup.task_id AND t.status IN ('completed', 'canceled', 'dead'))
RETURNING task_id
