-- Gives a run its item when it first starts; later attempts get the same one. The item becomes in_progress, and a part of
-- the task's payload, so that the task is found by its agent, and the next attempt passes the gates of that agent.
-- Returns no row if the worker does not hold the lease. item_id NULL: there is nothing to do, or the queue was asked to
-- stop.
CREATE OR REPLACE FUNCTION callboard.begin_run(its_id text, its_epoch integer, its_worker text)
RETURNS TABLE (project_id text, item_id text, title text, agent_name text, task_type text, input jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    p callboard.projects;
    run callboard.runs;
    i callboard.project_items;
BEGIN
    PERFORM FROM callboard.projects q JOIN callboard.runs r ON r.project_id = q.id WHERE r.id = its_id
    FOR NO KEY UPDATE OF q;
    PERFORM FROM callboard.tasks t
    WHERE t.id = its_id AND t.epoch = its_epoch AND t.worker_id = its_worker AND t.status = 'running'
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO run FROM callboard.runs r WHERE r.id = its_id;
    SELECT * INTO p FROM callboard.projects q WHERE q.id = run.project_id;
    IF run.item_id IS NOT NULL THEN
        SELECT * INTO i FROM callboard.project_items x WHERE x.id = run.item_id;
    ELSE
        IF NOT p.should_stop THEN
            i := callboard.next_item(p.id, run.requested_item);
        END IF;
        UPDATE callboard.runs r SET started_at = coalesce(r.started_at, callboard.now()), item_id = i.id WHERE r.id = its_id;
        IF i.id IS NOT NULL THEN
            UPDATE callboard.project_items x
            SET status = 'in_progress', run_id = its_id, runs = x.runs + 1, result = NULL, error = NULL,
                started_at = callboard.now(), updated_at = callboard.now()
            WHERE x.id = i.id
            RETURNING * INTO i;
            UPDATE callboard.tasks t
            SET payload = t.payload || jsonb_build_object('item_id', i.id, 'title', i.title, 'agent_name', i.agent_name,
                                                          'task_type', i.task_type, 'input', i.input),
                updated_at = callboard.now()
            WHERE t.id = its_id;
            PERFORM callboard.log_item(i, 'pending', its_id, NULL);
        END IF;
    END IF;
    RETURN QUERY SELECT p.id, i.id, i.title, i.agent_name, i.task_type, i.input;
END $$;
