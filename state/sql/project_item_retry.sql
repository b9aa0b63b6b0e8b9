SELECT status, moved
FROM callboard.retry_item((SELECT p.id FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant)),
                          %(id)s, %(by)s)
