-- One task or many, each with its first line of history. The id comes from the caller, so a repetition after a lost
-- connection adds nothing. Gates are not touched: that would hide them from all claims until the caller commits.
-- follower: how many of the same queue, priority and tenant stand before it in this batch; crowd: how many of the
-- same first gate. The caller counts them, which is cheaper than sorting here.
WITH input AS MATERIALIZED (
    SELECT i.*, callboard.now() AS now,
           coalesce(i.available_at, callboard.now() + make_interval(secs => coalesce(i.delay_seconds, 0))) AS due
    FROM jsonb_to_recordset(%(tasks)s) AS i (
        id text, actor text, queue text, priority smallint, tenant text, target text, payload jsonb, max_attempts integer,
        delay_seconds double precision, available_at timestamptz, max_age_seconds double precision, gates text[],
        gate_limits integer[], dedup_key text, follower integer, crowd integer)
), entries AS MATERIALIZED (
    SELECT e.queue, e.priority, e.tenant, callboard.entry_rank(e.queue, 'primary', e.priority, e.tenant) AS first
    FROM input e WHERE e.follower = 0
), beginning AS MATERIALIZED (
    SELECT callboard.starting_progress(0) AS progress
), born AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, payload, progress, max_attempts,
                                 available_at, expires_at, max_age, gates, gate_limits, dedup_key, waiting_gate, waiting_reason,
                                 created_at, updated_at)
    SELECT i.id, i.actor, i.queue,
           CASE WHEN i.due > i.now THEN 'scheduled' WHEN l.gate IS NOT NULL THEN 'waiting' ELSE 'queued' END,
           i.priority, CASE WHEN i.follower = 0 THEN e.first ELSE (e.first / 2 + i.follower) * 2 + 1 END,
           i.tenant, i.target, i.payload, b.progress, i.max_attempts, i.due,
           i.due + make_interval(secs => i.max_age_seconds), i.max_age_seconds, i.gates, i.gate_limits, i.dedup_key, l.gate,
           CASE WHEN l.gate IS NOT NULL THEN 'others stand in line before it' END, i.now, i.now
    FROM input i
    JOIN entries e ON e.queue = i.queue AND e.priority = i.priority AND e.tenant IS NOT DISTINCT FROM i.tenant
    CROSS JOIN beginning b,
    LATERAL (
        -- Where a line has formed, or forms in this very batch, a new task joins it at once.
        SELECT CASE WHEN i.gates <> '{}' AND i.due <= i.now THEN coalesce(
            (SELECT t.waiting_gate FROM callboard.tasks t
             WHERE t.status = 'waiting' AND t.waiting_gate = ANY (i.gates) LIMIT 1),
            CASE WHEN i.crowd >= 100 THEN i.gates[1] END) END AS gate
    ) AS l
    ON CONFLICT (id) DO NOTHING
    RETURNING id, actor, queue, status, epoch, last_event, waiting_gate, available_at, created_at
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT b.id, b.last_event, 'status',
           CASE WHEN b.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', b.status)
                ELSE jsonb_build_object('from', NULL, 'to', b.status, 'gate', b.waiting_gate) END, b.created_at
    FROM born b
)
SELECT b.id, b.actor, b.queue, b.status, b.epoch, b.available_at, b.created_at FROM born b
