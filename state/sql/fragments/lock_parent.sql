-- In the WHERE of a query that locks a task t: locks its workflow, or the project of its run, before the task. Always
-- true.
(t.workflow_id IS NULL
 OR EXISTS (SELECT FROM callboard.workflows w WHERE w.id = t.workflow_id FOR NO KEY UPDATE))
AND (t.actor <> 'project_run' OR NOT EXISTS (SELECT FROM callboard.runs r WHERE r.id = t.id)
     OR EXISTS (SELECT FROM callboard.runs r JOIN callboard.projects p ON p.id = r.project_id
                WHERE r.id = t.id FOR NO KEY UPDATE OF p))
