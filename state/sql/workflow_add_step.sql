SELECT a.status, a.added FROM callboard.add_step(%(id)s, %(step)s::jsonb) AS a
