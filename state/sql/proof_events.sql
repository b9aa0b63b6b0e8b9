-- The histories of all tasks, not those of workflows and projects. `announced`: it has to reach the task's webhook.
SELECT e.task_id, e.n, e.kind, e.data,
       e.kind = 'status' AND e.data ->> 'from' IS NOT NULL AND t.webhook_url IS NOT NULL
           AND e.data ->> 'to' = ANY (t.webhook_events) AS announced
FROM callboard.events e JOIN callboard.tasks t ON t.id = e.task_id
ORDER BY e.task_id, e.n
