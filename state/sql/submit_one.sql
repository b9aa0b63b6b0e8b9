SELECT callboard.submit_one(%(id)s, %(actor)s, %(queue)s, %(priority)s::smallint, %(tenant)s, %(target)s, %(payload)s::jsonb,
                            %(max_attempts)s, %(available_at)s::timestamptz, %(delay_seconds)s, %(max_age_seconds)s,
                            %(gates)s, %(gate_limits)s::integer[], %(dedup_key)s) AS created_at
