-- Changes a schedule, unless it has another revision than the one that the change was made for.
UPDATE callboard.schedules s
SET name = %(name)s, cron = %(cron)s, timezone = %(timezone)s, catch_up = %(catch_up)s, overlap = %(overlap)s,
    jitter_seconds = %(jitter_seconds)s::integer, actor = %(actor)s, payload = %(payload)s::jsonb, options = %(options)s::jsonb,
    queue = %(queue)s, priority = %(priority)s::smallint, max_attempts = %(max_attempts)s::integer,
    max_age = %(max_age)s::double precision, target = %(target)s, gates = %(gates)s::text[],
    gate_limits = %(gate_limits)s::integer[], next_at = %(next_at)s::timestamptz, declared = %(declared)s::jsonb,
    revision = s.revision + 1, updated_at = callboard.now()
WHERE s.id = %(id)s AND s.revision = %(revision)s::integer AND s.deleted_at IS NULL
RETURNING s.id
