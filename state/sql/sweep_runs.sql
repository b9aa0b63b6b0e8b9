SELECT id, project_id FROM callboard.end_stale_runs(%(limit)s::integer)
