-- The changes of queues that the trigger follow_task has written together with the ends, or revivals, of these runs. A
-- statement has one timestamp.
SELECT e.task_id AS project_id, e.data
FROM callboard.tasks t
JOIN callboard.runs r ON r.id = t.id
JOIN callboard.projects p ON p.id = r.project_id
JOIN callboard.events e ON e.task_id = p.id AND e.task_id < 'tq_'  -- the partition of projects
                       AND e.n > p.last_event - 20 AND e.kind = 'queue' AND e.at = t.updated_at
WHERE t.id = ANY (%(ids)s) AND r.id IN (e.data ->> 'run_id', e.data ->> 'previous_run_id')
ORDER BY e.task_id, e.n
