-- The queues in which a workflow may have started tasks.
SELECT DISTINCT s.queue FROM callboard.workflow_steps s WHERE s.workflow_id = %(id)s AND s.status = 'running'
