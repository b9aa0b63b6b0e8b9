SELECT a.status, a.added
FROM callboard.add_step((SELECT w.id FROM callboard.workflows w WHERE w.id = %(id)s AND (/*in_scope*/ w.tenant)),
                        %(step)s::jsonb) AS a
