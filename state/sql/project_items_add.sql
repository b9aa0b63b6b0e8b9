SELECT callboard.add_items((SELECT p.id FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant)),
                           %(items)s) AS found
