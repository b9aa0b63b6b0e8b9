SELECT count(*) FILTER (WHERE lane = 'primary') AS primary_depth, count(*) FILTER (WHERE lane = 'retry') AS retry_depth
FROM callboard.tasks WHERE status = 'queued'
