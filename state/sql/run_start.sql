SELECT outcome, run_id, item_status, change
FROM callboard.start_run(%(project_id)s, %(id)s, %(mode)s, %(item_id)s, %(priority)s::integer, %(queue)s, %(max_attempts)s::integer)
