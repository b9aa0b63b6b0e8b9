-- What submit.sql does for many, for a single task: without anything to take apart or to count, in two thirds of the
-- time. Answers when it was inserted, as JSON has it; NULL when there is more to know than the caller does: it stands in
-- a line. A repetition after a lost connection violates the primary key, which costs less than ON CONFLICT each time.
WITH born AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, payload, max_attempts,
                                 available_at, expires_at, max_age, gates, gate_limits, dedup_key, waiting_gate, waiting_reason,
                                 created_at, updated_at)
    SELECT %(id)s, %(actor)s, %(queue)s,
           CASE WHEN i.due > callboard.now() THEN 'scheduled' WHEN i.line IS NOT NULL THEN 'waiting' ELSE 'queued' END,
           %(priority)s::smallint, callboard.entry_rank(%(queue)s, 'primary', %(priority)s::smallint, %(tenant)s), %(tenant)s,
           %(target)s, %(payload)s::jsonb, %(max_attempts)s::integer, i.due,
           i.due + make_interval(secs => %(max_age_seconds)s::double precision), %(max_age_seconds)s, coalesce(%(gates)s::text[], '{}'),
           coalesce(%(gate_limits)s::integer[], '{}'), %(dedup_key)s, i.line,
           CASE WHEN i.line IS NOT NULL THEN 'others stand in line before it' END, callboard.now(), callboard.now()
    FROM (
        SELECT d.due, CASE WHEN d.due <= callboard.now() THEN callboard.line_at(%(gates)s::text[]) END AS line
        FROM (
            SELECT coalesce(%(available_at)s::timestamptz,
                            callboard.now() + make_interval(secs => coalesce(%(delay_seconds)s::double precision, 0))) AS due
        ) AS d
        OFFSET 0  -- once, not wherever it is spoken of
    ) AS i
    RETURNING id, status, waiting_gate, created_at
)
INSERT INTO callboard.events (task_id, n, kind, data, at)
SELECT b.id, 1, 'status',
       CASE WHEN b.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', b.status)
            ELSE jsonb_build_object('from', NULL, 'to', b.status, 'gate', b.waiting_gate) END, b.created_at
FROM born b
RETURNING CASE WHEN data -> 'gate' IS NULL THEN to_jsonb(at) #>> '{}' END AS created_at
