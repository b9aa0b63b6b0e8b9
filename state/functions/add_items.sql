-- Adds items to the end of a project, in the order given. Their ids come from the caller: a repetition after a lost
-- connection adds nothing. Returns whether there is such a project.
CREATE OR REPLACE FUNCTION callboard.add_items(its_project text, items jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    added integer;
BEGIN
    PERFORM FROM callboard.projects p WHERE p.id = its_project FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO callboard.project_items (id, project_id, position, title, agent_name, task_type, input, priority, gates,
                                         gate_limits, created_at, updated_at)
    SELECT i.id, its_project,
           coalesce((SELECT max(x.position) FROM callboard.project_items x WHERE x.project_id = its_project), 0) + i.place,
           i.title, i.agent_name, i.task_type, i.input, i.priority, i.gates, i.gate_limits, callboard.now(), callboard.now()
    FROM jsonb_to_recordset(items) AS i (
        id text, place integer, title text, agent_name text, task_type text, input jsonb, priority smallint, gates text[],
        gate_limits integer[])
    ON CONFLICT (id) DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF added > 0 THEN
        PERFORM callboard.log_project(its_project, 'item', jsonb_build_object('from', NULL, 'to', 'pending', 'items', added));
    END IF;
    RETURN true;
END $$;
