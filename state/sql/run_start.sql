SELECT outcome, run_id, item_status, change
FROM callboard.start_run((SELECT p.id FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant)),
                         %(id)s, %(mode)s, %(item_id)s, %(priority)s::integer, %(queue)s, %(max_attempts)s::integer)
