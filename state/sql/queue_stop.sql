SELECT run_id, change, canceled FROM callboard.stop_queue(%(project_id)s, %(force)s::boolean)
