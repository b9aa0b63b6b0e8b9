-- One task or many, each with its first line of history. The id comes from the caller, so a repetition after a lost
-- connection adds nothing. Gates are not touched: that would hide them from all claims until the caller commits.
WITH input AS MATERIALIZED (
    SELECT i.*, callboard.now() AS now,
           coalesce(i.available_at, callboard.now() + make_interval(secs => coalesce(i.delay_seconds, 0))) AS due,
           row_number() OVER (PARTITION BY i.queue, i.priority, i.tenant ORDER BY i.place) - 1 AS follower,
           row_number() OVER (PARTITION BY i.gates[1] ORDER BY i.place) AS at_gate
    FROM ROWS FROM (jsonb_to_recordset(%(tasks)s) AS (
        id text, actor text, queue text, priority smallint, tenant text, target text, payload jsonb, max_attempts integer,
        delay_seconds double precision, available_at timestamptz, max_age_seconds double precision, gates text[],
        gate_limits integer[], dedup_key text, dedup_ttl_seconds double precision)
    ) WITH ORDINALITY AS i (
        id, actor, queue, priority, tenant, target, payload, max_attempts, delay_seconds, available_at, max_age_seconds,
        gates, gate_limits, dedup_key, dedup_ttl_seconds, place)
), entries AS MATERIALIZED (
    SELECT e.*, callboard.entry_rank(e.queue, 'primary', e.priority, e.tenant) AS first
    FROM (SELECT DISTINCT queue, priority, tenant FROM input) AS e
), keys AS (
    -- The first of several concurrent submits gets the key; the others wait for its commit and then get nothing.
    INSERT INTO callboard.dedup (tenant, actor, key, task_id, until)
    SELECT coalesce(i.tenant, ''), i.actor, i.dedup_key, i.id, i.now + make_interval(secs => i.dedup_ttl_seconds)
    FROM input i WHERE i.dedup_key IS NOT NULL
    ON CONFLICT (tenant, actor, key) DO UPDATE SET task_id = excluded.task_id, until = excluded.until
    WHERE dedup.until <= callboard.now()
       OR EXISTS (SELECT FROM callboard.tasks t
                  WHERE t.id = dedup.task_id AND t.status IN ('completed', 'canceled', 'dead'))
    RETURNING task_id
), placed AS (
    SELECT i.*, CASE WHEN i.follower = 0 THEN e.first ELSE (e.first / 2 + i.follower) * 2 + 1 END AS rank,
           -- Where a line has formed, or forms in this very batch, a new task joins it at once.
           CASE WHEN i.due <= i.now AND i.gates <> '{}' THEN coalesce(
               (SELECT t.waiting_gate FROM callboard.tasks t
                WHERE t.status = 'waiting' AND t.waiting_gate = ANY (i.gates) LIMIT 1),
               CASE WHEN i.at_gate > 100 THEN i.gates[1] END) END AS line
    FROM input i JOIN entries e ON e.queue = i.queue AND e.priority = i.priority AND e.tenant IS NOT DISTINCT FROM i.tenant
    WHERE i.dedup_key IS NULL OR i.id IN (SELECT task_id FROM keys)
), born AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, payload, progress, max_attempts,
                                 available_at, expires_at, gates, gate_limits, dedup_key, waiting_gate, waiting_reason,
                                 created_at, updated_at)
    SELECT p.id, p.actor, p.queue,
           CASE WHEN p.due > p.now THEN 'scheduled' WHEN p.line IS NOT NULL THEN 'waiting' ELSE 'queued' END,
           p.priority, p.rank, p.tenant, p.target, p.payload, callboard.starting_progress(0), p.max_attempts, p.due,
           p.due + make_interval(secs => p.max_age_seconds), p.gates, p.gate_limits, p.dedup_key, p.line,
           CASE WHEN p.line IS NOT NULL THEN 'others stand in line before it' END, p.now, p.now
    FROM placed p
    ON CONFLICT (id) DO NOTHING
    RETURNING *
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT b.id, b.last_event, 'status',
           jsonb_strip_nulls(jsonb_build_object('to', b.status, 'gate', b.waiting_gate)) || '{"from": null}', b.created_at
    FROM born b
)
SELECT b.id, b.actor, b.queue, b.status, b.epoch, b.available_at, b.created_at FROM born b
