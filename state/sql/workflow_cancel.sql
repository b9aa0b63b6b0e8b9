SELECT c.workflow_status, c.id, c.epoch, c.actor, c.queue, c.before, c.status, c.gates
FROM callboard.cancel_workflow(%(id)s, %(reason)s) AS c
