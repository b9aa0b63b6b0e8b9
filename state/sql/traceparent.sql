SELECT traceparent FROM callboard.tasks WHERE id = %(id)s
