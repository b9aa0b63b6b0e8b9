-- One task or many, each with its first line of history. The id comes from the caller, so a repetition after a lost
-- connection adds nothing.
WITH input AS (
    SELECT i.*, callboard.now() AS now,
           coalesce(i.available_at, callboard.now() + make_interval(secs => coalesce(i.delay_seconds, 0))) AS due
    FROM jsonb_to_recordset(%(tasks)s) AS i (
        id text, actor text, queue text, priority smallint, tenant text, payload jsonb, max_attempts integer,
        delay_seconds double precision, available_at timestamptz, max_age_seconds double precision)
), born AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, payload, progress, max_attempts,
                                 available_at, expires_at, created_at, updated_at)
    SELECT i.id, i.actor, i.queue, CASE WHEN i.due > i.now THEN 'scheduled' ELSE 'queued' END, i.priority,
           callboard.rank_now(), i.tenant, i.payload, callboard.starting_progress(0), i.max_attempts, i.due,
           i.due + make_interval(secs => i.max_age_seconds), i.now, i.now
    FROM input i
    ON CONFLICT (id) DO NOTHING
    RETURNING *
), logged AS (
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT b.id, b.last_event, 'status', jsonb_build_object('from', NULL, 'to', b.status), b.created_at FROM born b
)
SELECT b.* FROM born b
