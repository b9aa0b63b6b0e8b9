-- The id comes from the caller: a repetition after a lost connection violates the primary key.
INSERT INTO callboard.schedules (id, name, tenant, cron, timezone, catch_up, overlap, jitter_seconds, actor, payload, options,
                                 queue, priority, max_attempts, max_age, target, gates, gate_limits, paused, next_at,
                                 declared, created_by, created_at, updated_at)
VALUES (%(id)s, %(name)s, %(tenant)s, %(cron)s, %(timezone)s, %(catch_up)s, %(overlap)s, %(jitter_seconds)s::integer, %(actor)s,
        %(payload)s::jsonb, %(options)s::jsonb, %(queue)s, %(priority)s::smallint, %(max_attempts)s::integer,
        %(max_age)s::double precision, %(target)s, %(gates)s::text[], %(gate_limits)s::integer[],
        %(next_at)s::timestamptz IS NULL, %(next_at)s::timestamptz, %(declared)s::jsonb, %(created_by)s, callboard.now(), callboard.now())
