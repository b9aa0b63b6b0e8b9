SELECT FROM callboard.tasks WHERE id = %(id)s AND epoch = %(epoch)s AND status = 'running'
