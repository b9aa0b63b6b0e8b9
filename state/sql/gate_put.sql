-- Sets only the named columns, so that two operators who change different ones do not undo each other's change.
WITH before AS MATERIALIZED (
    SELECT g AS gate FROM callboard.gates g WHERE g.key = %(key)s FOR NO KEY UPDATE
), after AS (
    UPDATE callboard.gates g
    SET max_concurrent = CASE WHEN 'max_concurrent' = ANY (c.names) THEN %(max_concurrent)s ELSE g.max_concurrent END,
        rate_count = CASE WHEN 'rate_count' = ANY (c.names) THEN %(rate_count)s ELSE g.rate_count END,
        rate_seconds = CASE WHEN 'rate_seconds' = ANY (c.names) THEN %(rate_seconds)s ELSE g.rate_seconds END,
        paused = CASE WHEN 'paused' = ANY (c.names) THEN %(paused)s ELSE g.paused END,
        closed_until = CASE WHEN 'closed_until' = ANY (c.names) THEN %(closed_until)s ELSE g.closed_until END,
        breaker_threshold = CASE WHEN 'breaker_threshold' = ANY (c.names) THEN %(breaker_threshold)s
                                 ELSE g.breaker_threshold END,
        breaker_volume = CASE WHEN 'breaker_volume' = ANY (c.names) THEN %(breaker_volume)s ELSE g.breaker_volume END,
        breaker_window = CASE WHEN 'breaker_window' = ANY (c.names) THEN %(breaker_window)s ELSE g.breaker_window END,
        breaker_seconds = CASE WHEN 'breaker_seconds' = ANY (c.names) THEN %(breaker_seconds)s
                               ELSE g.breaker_seconds END,
        breaker_state = CASE WHEN 'breaker_threshold' = ANY (c.names) AND %(breaker_threshold)s::double precision IS NULL
                             THEN 'closed' ELSE g.breaker_state END
    FROM (SELECT %(changed)s::text[] AS names) AS c, before b
    WHERE g.key = (b.gate).key
    RETURNING b.gate AS before, g AS after
)
SELECT callboard.log_gate_change(a.before, a.after, 'operator', %(by)s) FROM after a
