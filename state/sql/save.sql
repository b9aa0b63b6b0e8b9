UPDATE callboard.tasks
SET checkpoint = checkpoint || %(values)s, updated_at = callboard.now()
WHERE id = %(id)s AND epoch = %(epoch)s AND worker_id = %(worker)s AND status = 'running'
RETURNING checkpoint
