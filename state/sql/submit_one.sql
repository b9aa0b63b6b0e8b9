-- Does what submit.sql does, for a single task: there is no batch to take apart and nothing to count, so it takes two
-- thirds of the time. Returns when the task was inserted, as JSON has it, or NULL if the task stands in a line: the
-- caller has to read it then. A repetition after a lost connection violates the primary key, which costs less than ON
-- CONFLICT.
WITH added AS (
    INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, payload, max_attempts,
                                 available_at, expires_at, max_age, gates, gate_limits, dedup_key, webhook_url,
                                 webhook_events, traceparent, waiting_gate, waiting_reason, created_at, updated_at)
    SELECT %(id)s, %(actor)s, %(queue)s,
           CASE WHEN i.due > callboard.now() THEN 'scheduled' WHEN i.line IS NOT NULL THEN 'waiting' ELSE 'queued' END,
           %(priority)s::smallint, callboard.entry_rank(%(queue)s, 'primary', %(priority)s::smallint, %(tenant)s), %(tenant)s,
           %(target)s, %(payload)s::jsonb, %(max_attempts)s::integer, i.due,
           i.due + make_interval(secs => %(max_age_seconds)s::double precision), %(max_age_seconds)s, coalesce(%(gates)s::text[], '{}'),
           coalesce(%(gate_limits)s::integer[], '{}'), %(dedup_key)s, %(webhook_url)s, %(webhook_events)s::text[], %(traceparent)s, i.line,
           CASE WHEN i.line IS NOT NULL THEN 'others stand in line before it' END, callboard.now(), callboard.now()
    FROM (
        SELECT d.due, CASE WHEN d.due <= callboard.now() THEN callboard.line_at(%(gates)s::text[]) END AS line
        FROM (
            SELECT coalesce(%(available_at)s::timestamptz,
                            callboard.now() + make_interval(secs => coalesce(%(delay_seconds)s::double precision, 0))) AS due
        ) AS d
        OFFSET 0  -- computed once, not at each use
    ) AS i
    RETURNING id, status, last_event, waiting_gate
)
/*log_move*/ CASE WHEN m.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', m.status)
                  ELSE jsonb_build_object('from', NULL, 'to', m.status, 'gate', m.waiting_gate) END
FROM added m
RETURNING CASE WHEN data -> 'gate' IS NULL THEN to_jsonb(at) #>> '{}' END AS created_at
