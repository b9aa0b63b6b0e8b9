-- Inserts tasks, each with its first event. The ids come from the caller, so a repetition after a lost connection violates
-- the primary key: for each row that costs less than ON CONFLICT. Gates are not touched: that would hide them from all
-- claims until the caller commits.
-- follower: how many tasks of the same queue, priority and tenant come before this one in the batch; crowd: how many of
-- the same first gate. The caller counts them, which is cheaper than sorting here.
WITH input AS MATERIALIZED (
    SELECT i.*, d.due,
           -- A new task joins a line at once if one of its gates has a line, or gets one by this very batch.
           CASE WHEN i.gates IS NOT NULL AND d.due <= callboard.now() THEN coalesce(
               (SELECT t.waiting_gate FROM callboard.tasks t
                WHERE t.status = 'waiting' AND t.waiting_gate = ANY (i.gates) LIMIT 1),
               CASE WHEN i.crowd >= 100 THEN i.gates[1] END) END AS line
    FROM jsonb_to_recordset(%(tasks)s) AS i (
        id text, actor text, queue text, priority smallint, tenant text, target text, payload jsonb, max_attempts integer,
        delay_seconds double precision, available_at timestamptz, max_age_seconds double precision, gates text[],
        gate_limits integer[], dedup_key text, workflow_id text, webhook_url text, webhook_events text[], traceparent text,
        follower integer, crowd integer),
    LATERAL (
        SELECT coalesce(i.available_at, callboard.now() + make_interval(secs => coalesce(i.delay_seconds, 0))) AS due
    ) AS d
), firsts AS MATERIALIZED (  -- not read for a single task
    SELECT f.queue, f.priority, f.tenant, callboard.entry_rank(f.queue, 'primary', f.priority, f.tenant) AS rank
    FROM input f WHERE f.follower = 0
), added AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, payload, max_attempts,
                                 available_at, expires_at, max_age, gates, gate_limits, dedup_key, workflow_id, webhook_url,
                                 webhook_events, traceparent, waiting_gate, waiting_reason, created_at, updated_at)
    SELECT i.id, i.actor, i.queue,
           CASE WHEN i.due > callboard.now() THEN 'scheduled' WHEN i.line IS NOT NULL THEN 'waiting' ELSE 'queued' END,
           i.priority,
           CASE WHEN i.follower = 0 THEN callboard.entry_rank(i.queue, 'primary', i.priority, i.tenant)
                ELSE ((SELECT f.rank FROM firsts f
                       WHERE f.queue = i.queue AND f.priority = i.priority AND f.tenant IS NOT DISTINCT FROM i.tenant) / 2
                      + i.follower) * 2 + 1 END,
           i.tenant, i.target, i.payload, i.max_attempts, i.due,
           i.due + make_interval(secs => i.max_age_seconds), i.max_age_seconds, coalesce(i.gates, '{}'),
           coalesce(i.gate_limits, '{}'), i.dedup_key, i.workflow_id,
           i.webhook_url, i.webhook_events, i.traceparent, i.line,
           CASE WHEN i.line IS NOT NULL THEN 'others stand in line before it' END, callboard.now(), callboard.now()
    FROM input i
    RETURNING id, actor, queue, status, epoch, last_event, waiting_gate, available_at, created_at
), logged AS (
    /*log_move*/ CASE WHEN m.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', m.status)
                      ELSE jsonb_build_object('from', NULL, 'to', m.status, 'gate', m.waiting_gate) END
    FROM added m
)
SELECT m.id, m.actor, m.queue, m.status, m.epoch, m.available_at, m.created_at FROM added m
