-- Starts the queue of a project: one run, which takes an item when it starts. Refused while a run is live. The run's id
-- comes from the caller: a repetition after a lost connection finds the run of the first try.
-- outcome: started; running (run_id: the live run); 'no project', 'no item' (not one of the project's) or 'item not pending'.
-- change: the event that was written.
CREATE OR REPLACE FUNCTION callboard.start_run(
    its_project text, its_id text, its_mode text, its_item text, its_priority integer, its_queue text, attempts integer
) RETURNS TABLE (outcome text, run_id text, item_status text, change jsonb) LANGUAGE plpgsql AS $$
DECLARE
    p callboard.projects;
BEGIN
    PERFORM FROM callboard.projects WHERE projects.id = its_project FOR NO KEY UPDATE;
    PERFORM callboard.end_stale_run(its_project);
    SELECT * INTO p FROM callboard.projects WHERE projects.id = its_project;
    run_id := its_id;
    IF p.id IS NULL THEN
        outcome := 'no project';
    ELSIF EXISTS (SELECT FROM callboard.runs r WHERE r.id = its_id) THEN
        outcome := 'started';
    ELSIF p.mode IS NOT NULL THEN
        outcome := 'running';
        run_id := (SELECT r.id FROM callboard.runs r WHERE r.project_id = p.id AND r.ended_at IS NULL);
    ELSE
        item_status := (SELECT i.status FROM callboard.project_items i WHERE i.id = its_item AND i.project_id = p.id);
        outcome := CASE WHEN its_item IS NOT NULL AND item_status IS NULL THEN 'no item'
                        WHEN item_status <> 'pending' THEN 'item not pending'
                        ELSE 'started' END;
        IF outcome = 'started' THEN
            PERFORM callboard.insert_run(p, its_id, its_mode, its_item, its_priority, its_queue, attempts);
            UPDATE callboard.projects
            SET mode = its_mode, should_stop = false, started_at = callboard.now(), stopped_at = NULL, last_error = NULL
            WHERE projects.id = p.id;
            change := callboard.log_queue(p.id, 'stopped', 'running', its_mode, its_id, 'started', p.stopped_at);
        END IF;
    END IF;
    RETURN NEXT;
END $$;
