SELECT callboard.add_items(%(project_id)s, %(items)s) AS found
