-- Ends runs whose task is finished although they are live: what follows from the end of a task could not be written with
-- it (see follow_task). Runs of locked projects are left for the next time. Returns the runs that were ended.
CREATE OR REPLACE FUNCTION callboard.end_stale_runs(most integer) RETURNS TABLE (id text, project_id text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    stale record;
BEGIN
    FOR stale IN
        SELECT r.id, r.project_id FROM callboard.runs r JOIN callboard.tasks t ON t.id = r.id
        WHERE r.ended_at IS NULL AND t.status IN (/*finished*/)
        ORDER BY r.project_id LIMIT most
    LOOP
        PERFORM FROM callboard.projects p WHERE p.id = stale.project_id FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        BEGIN
            IF callboard.end_stale_run(stale.project_id) THEN
                RETURN QUERY SELECT stale.id, stale.project_id;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'run % cannot be ended: %', stale.id, SQLERRM;
        END;
    END LOOP;
END $$;

-- The same for one project, which the caller has locked: nobody can revive its runs meanwhile.
CREATE OR REPLACE FUNCTION callboard.end_stale_run(its_project text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t callboard.tasks;
BEGIN
    SELECT x.* INTO t FROM callboard.tasks x JOIN callboard.runs r ON r.id = x.id
    WHERE r.project_id = its_project AND r.ended_at IS NULL AND x.status IN (/*finished*/);
    IF t.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM callboard.end_run(t);
    RETURN true;
END $$;
