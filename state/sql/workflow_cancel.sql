SELECT c.workflow_status, c.id, c.epoch, c.actor, c.queue, c.before, c.status, c.gates
FROM callboard.cancel_workflow((SELECT w.id FROM callboard.workflows w WHERE w.id = %(id)s AND (/*in_scope*/ w.tenant)),
                               %(reason)s, %(by)s) AS c
