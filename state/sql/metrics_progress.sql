SELECT (callboard.now() AT TIME ZONE 'UTC')::date - 1 AS yesterday, measured_until, final_until
FROM callboard.metrics_progress
