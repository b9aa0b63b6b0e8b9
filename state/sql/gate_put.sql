UPDATE callboard.gates
SET max_concurrent = %(max_concurrent)s, rate_count = %(rate_count)s, rate_seconds = %(rate_seconds)s,
    paused = %(paused)s, closed_until = %(closed_until)s, breaker_threshold = %(breaker_threshold)s,
    breaker_volume = %(breaker_volume)s, breaker_window = %(breaker_window)s, breaker_seconds = %(breaker_seconds)s,
    breaker_state = CASE WHEN %(breaker_threshold)s::double precision IS NULL THEN 'closed' ELSE breaker_state END
WHERE key = %(key)s
