-- As lock_parent, without waiting: false if another session has locked the workflow or the project.
(t.workflow_id IS NULL
 OR EXISTS (SELECT FROM callboard.workflows w WHERE w.id = t.workflow_id FOR NO KEY UPDATE SKIP LOCKED))
AND (t.actor <> 'project_run' OR NOT EXISTS (SELECT FROM callboard.runs r WHERE r.id = t.id)
     OR EXISTS (SELECT FROM callboard.runs r JOIN callboard.projects p ON p.id = r.project_id
                WHERE r.id = t.id FOR NO KEY UPDATE OF p SKIP LOCKED))
