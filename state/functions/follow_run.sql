-- Writes what the end of a run, or its revival, means for its project. (Called by follow_task, in the transaction that
-- ends or revives the run's task. Our own statements have locked the project before the task; for any other, it is locked
-- here.)
CREATE OR REPLACE FUNCTION callboard.follow_run(t callboard.tasks, before text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM callboard.projects p JOIN callboard.runs r ON r.project_id = p.id WHERE r.id = t.id FOR NO KEY UPDATE OF p;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF t.status NOT IN (/*finished*/) THEN
        PERFORM callboard.reopen_run(t.id);
    ELSIF before = 'dead' THEN  -- dismissed: the run has ended before, and the queue with it
        UPDATE callboard.runs r SET outcome = t.status WHERE r.id = t.id;
    ELSE
        PERFORM callboard.end_run(t);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION callboard.end_run(t callboard.tasks) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    run callboard.runs;
    p callboard.projects;
    next_id text;
    why text;
BEGIN
    UPDATE callboard.runs r SET ended_at = callboard.now(), outcome = t.status WHERE r.id = t.id RETURNING * INTO run;
    SELECT * INTO p FROM callboard.projects q WHERE q.id = run.project_id;
    PERFORM callboard.end_item(run.item_id, t);
    IF t.status = 'completed' AND run.mode = 'loop' AND run.item_id IS NOT NULL AND NOT p.should_stop
       AND (callboard.next_item(p.id, NULL)).id IS NOT NULL THEN
        next_id := callboard.new_id('tq_');
        PERFORM callboard.insert_run(p, next_id, 'loop', NULL, run.priority, t.queue, t.max_attempts - t.attempts_before);
        PERFORM callboard.log_queue(p.id, 'running', 'running', 'loop', next_id, 'next item', run.started_at,
                                    jsonb_build_object('previous_run_id', run.id));
        RETURN;
    END IF;
    why := CASE
        WHEN t.status = 'dead' THEN 'run died'
        WHEN run.reason IS NOT NULL THEN run.reason
        WHEN p.should_stop THEN 'stop requested'
        WHEN t.status = 'canceled' THEN 'run canceled'
        WHEN run.mode = 'loop' OR run.item_id IS NULL THEN 'no pending items'
        ELSE 'single run finished'
    END;
    UPDATE callboard.runs r SET reason = why WHERE r.id = run.id;
    UPDATE callboard.projects q
    SET mode = NULL, should_stop = false, stopped_at = callboard.now(),
        last_error = CASE WHEN t.status = 'dead'
                          THEN coalesce(t.error ->> 'type', 'Error') || ': ' || coalesce(t.error ->> 'message', '')
                          ELSE q.last_error END
    WHERE q.id = p.id;
    PERFORM callboard.log_queue(p.id, CASE WHEN p.should_stop THEN 'stopping' ELSE 'running' END, 'stopped', run.mode,
                                run.id, why, p.started_at);
END $$;

CREATE OR REPLACE FUNCTION callboard.end_item(its_id text, t callboard.tasks) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    i callboard.project_items;
BEGIN
    UPDATE callboard.project_items x
    SET status = CASE WHEN t.status = 'completed' THEN 'completed' ELSE 'failed' END,
        result = CASE WHEN t.status = 'completed' THEN t.result -> 'result' END,
        error = CASE WHEN t.status = 'dead' THEN t.error - 'traceback'
                     WHEN t.status = 'canceled' THEN jsonb_build_object(
                         'type', 'Canceled', 'category', 'permanent', 'message', 'Its run was canceled', 'details', '{}'::jsonb)
                END,
        finished_at = callboard.now(), updated_at = callboard.now()
    WHERE x.id = its_id AND x.status = 'in_progress'
    RETURNING * INTO i;
    IF FOUND THEN
        PERFORM callboard.log_item(i, 'in_progress', t.id, i.error ->> 'message');
    END IF;
END $$;

-- A dead run lives again, with its item, and the queue runs. The verbs look first whether that is possible (run_holders).
CREATE OR REPLACE FUNCTION callboard.reopen_run(its_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    run callboard.runs;
    p callboard.projects;
    i callboard.project_items;
    holder text;
    item_before text;
BEGIN
    holder := (SELECT h.holder FROM callboard.run_holders(ARRAY[its_id]) AS h);
    IF holder IS NOT NULL THEN
        RAISE EXCEPTION 'run % cannot be revived: % has taken its place', its_id, holder USING ERRCODE = 'CB002';
    END IF;
    UPDATE callboard.runs r SET ended_at = NULL, outcome = NULL, reason = NULL WHERE r.id = its_id RETURNING * INTO run;
    SELECT * INTO p FROM callboard.projects q WHERE q.id = run.project_id;
    UPDATE callboard.projects q
    SET mode = run.mode, should_stop = false, started_at = callboard.now(), stopped_at = NULL, last_error = NULL
    WHERE q.id = p.id;
    item_before := (SELECT x.status FROM callboard.project_items x WHERE x.id = run.item_id);
    UPDATE callboard.project_items x
    SET status = 'in_progress', error = NULL, finished_at = NULL, updated_at = callboard.now()
    WHERE x.id = run.item_id
    RETURNING * INTO i;
    IF FOUND THEN
        PERFORM callboard.log_item(i, item_before, run.id, 'run revived');
    END IF;
    PERFORM callboard.log_queue(p.id, 'stopped', 'running', run.mode, run.id, 'run revived', p.stopped_at);
END $$;
