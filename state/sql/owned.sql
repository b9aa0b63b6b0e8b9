SELECT FROM callboard.tasks WHERE id = %(id)s AND epoch = %(epoch)s AND worker_id = %(worker)s AND status = 'running'
