-- Inserts a run of a project: its task, with the gates of the item that is next now, and its row in runs. The caller has
-- locked the project, and has seen that it has no live run.
-- Which item the run takes is decided when it starts (begin_run). If that is another one, and its agent needs other gates,
-- the worker puts the task back with those.
CREATE OR REPLACE FUNCTION callboard.insert_run(
    p callboard.projects, its_id text, its_mode text, its_item text, its_priority integer, its_queue text, attempts integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next callboard.project_items := callboard.next_item(p.id, its_item);
    t callboard.tasks;
BEGIN
    t.id := its_id;
    t.actor := 'project_run';
    t.queue := its_queue;
    t.priority := coalesce(its_priority, next.priority, 2);
    t.tenant := p.tenant;
    t.payload := jsonb_build_object('project_id', p.id);
    t.max_attempts := attempts;
    t.gates := next.gates;
    t.gate_limits := next.gate_limits;
    PERFORM callboard.insert_task(t);
    INSERT INTO callboard.runs (id, project_id, mode, priority, requested_item, created_at)
    VALUES (its_id, p.id, its_mode, its_priority, its_item, callboard.now());
END $$;

-- The item that a run would take now: the one that it was started for, or else the first pending one.
CREATE OR REPLACE FUNCTION callboard.next_item(its_project text, requested text) RETURNS callboard.project_items
LANGUAGE sql STABLE AS $$
    SELECT i FROM callboard.project_items i
    WHERE i.project_id = its_project AND i.status = 'pending' AND (requested IS NULL OR i.id = requested)
    ORDER BY i.priority, i.position LIMIT 1
$$;
