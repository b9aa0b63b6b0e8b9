-- Asks the queue of a project to stop: the current item is done to its end, the next one does not start. A run that has
-- not begun its item is canceled at once. With force, only marks the queue and its run: the caller cancels the run.
-- Returns no row if there is no such project; run_id NULL if its queue does not run. change: the event that was written.
-- canceled: the move of the run's task, as the verbs announce it.
CREATE OR REPLACE FUNCTION callboard.stop_queue(its_project text, force boolean, by_whom text)
RETURNS TABLE (run_id text, change jsonb, canceled jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    p callboard.projects;
    run callboard.runs;
    why text := CASE WHEN force THEN 'force-stop' ELSE 'stop requested' END;
BEGIN
    PERFORM FROM callboard.projects q WHERE q.id = its_project FOR NO KEY UPDATE;
    PERFORM callboard.end_stale_run(its_project);
    SELECT * INTO p FROM callboard.projects q WHERE q.id = its_project;
    IF p.id IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO run FROM callboard.runs r WHERE r.project_id = p.id AND r.ended_at IS NULL;
    IF run.id IS NOT NULL THEN
        IF NOT p.should_stop OR force AND run.reason IS NULL THEN
            UPDATE callboard.projects q SET should_stop = true WHERE q.id = p.id;
            change := callboard.log_queue(p.id, CASE WHEN p.should_stop THEN 'stopping' ELSE 'running' END, 'stopping',
                                          p.mode, run.id, why, p.started_at,
                                          jsonb_strip_nulls(jsonb_build_object('by', by_whom)));
        END IF;
        IF force THEN
            UPDATE callboard.runs r SET reason = why WHERE r.id = run.id;
        ELSIF run.item_id IS NULL THEN
            canceled := callboard.cancel_unbegun(run.id, by_whom);
        END IF;
    END IF;
    RETURN QUERY SELECT run.id, change, canceled;
END $$;

-- Cancels a run that no worker runs. Its project is locked.
CREATE OR REPLACE FUNCTION callboard.cancel_unbegun(its_id text, by_whom text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    answer jsonb;
BEGIN
    PERFORM FROM callboard.tasks t WHERE t.id = its_id FOR NO KEY UPDATE;
    WITH mine AS MATERIALIZED (
        SELECT t.id, t.status FROM callboard.tasks t
        WHERE t.id = its_id AND (t.status IN (/*startable*/) OR t.status = 'paused')
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'canceled', finished_at = callboard.now(), /*leave_line*/, /*count_move*/
        FROM mine m
        WHERE t.id = m.id
        RETURNING /*moved_task*/, m.status AS before
    ), logged AS (
        /*log_move*/ jsonb_strip_nulls(jsonb_build_object(
            'from', m.before, 'to', m.status, 'reason', 'stop requested', 'by', by_whom)) FROM moved m
    )
    SELECT to_jsonb(a) INTO answer FROM (SELECT /*move_result*/ FROM moved m) AS a;
    RETURN answer;
END $$;
