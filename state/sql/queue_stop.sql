SELECT run_id, change, canceled
FROM callboard.stop_queue((SELECT p.id FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant)),
                          %(force)s::boolean, %(by)s)
