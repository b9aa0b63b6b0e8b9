UPDATE callboard.generations g
SET status = 'failed', error = %(error)s, raw_response = %(raw_response)s, updated_at = callboard.now()
FROM callboard.tasks t
WHERE g.task_id = %(task_id)s AND t.id = g.task_id AND t.epoch = %(epoch)s AND t.worker_id = %(worker)s
  AND t.status = 'running'
RETURNING g.id
