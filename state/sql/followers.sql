-- What the trigger follow_task has written together with the ends of these tasks: for each, the workflow or project whose
-- history has grown, and the tasks that were started for it. A statement has one timestamp: what it starts is created at
-- the moment at which it ends a task. Of a workflow, only tasks that are not over yet are looked at: a step may have had a
-- thousand.
WITH ended AS MATERIALIZED (
    SELECT DISTINCT e.workflow_id, r.project_id, e.finished_at
    FROM callboard.tasks e LEFT JOIN callboard.runs r ON e.actor = 'project_run' AND r.id = e.id
    WHERE e.id = ANY (%(ids)s) AND coalesce(e.workflow_id, r.project_id) IS NOT NULL
)
SELECT coalesce(e.workflow_id, e.project_id) AS parent, n.id, n.actor, n.queue, n.status, n.epoch
FROM ended e
LEFT JOIN LATERAL (
    SELECT t.id, t.actor, t.queue, t.status, t.epoch FROM callboard.tasks t
    WHERE t.workflow_id = e.workflow_id AND t.created_at = e.finished_at AND t.status NOT IN (/*terminal*/)
    UNION ALL
    SELECT t.id, t.actor, t.queue, t.status, t.epoch
    FROM callboard.runs live JOIN callboard.tasks t ON t.id = live.id
    WHERE live.project_id = e.project_id AND live.ended_at IS NULL AND t.created_at = e.finished_at
) AS n ON true
