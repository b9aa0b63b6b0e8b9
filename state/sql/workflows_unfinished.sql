-- Those of the workflows that are not finished, as StoredWorkflow.finished says it.
SELECT w.id, w.last_event
FROM callboard.workflows w
WHERE w.id = ANY (%(ids)s)
  AND (w.status = 'running'
       OR EXISTS (SELECT FROM callboard.workflow_steps s WHERE s.workflow_id = w.id AND s.status = 'running'))
