SELECT status, moved FROM callboard.retry_item(%(project_id)s, %(id)s)
