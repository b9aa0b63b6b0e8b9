-- What follows when a task ends, or is revived, in the transaction that does it, whichever statement that is: an agent's
-- event is recorded, a project's run ends, a workflow goes on. Our own statements have locked the project or the workflow
-- before the task (fragments lock_parent and try_lock_parent), so nothing waits here.
--
-- The end of a task is kept whatever becomes of the rest: a paid-for result must not be lost because a workflow's data is
-- bad. An error of that kind is a warning in the log of Postgres, and admin.invariants shows what was left behind. Other
-- errors (a deadlock, a lock timeout, no disk) undo everything, and the end is written again. A revival is refused by any
-- error.
CREATE OR REPLACE FUNCTION callboard.follow_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = 'dead' AND NEW.status <> 'canceled' THEN
        PERFORM callboard.follow_move(NEW, OLD.status);
        RETURN NULL;
    END IF;
    BEGIN
        PERFORM callboard.follow_move(NEW, OLD.status);
    EXCEPTION WHEN OTHERS THEN
        IF SQLSTATE !~ '^(21|22|23|42|54|CB|P0)' THEN
            RAISE;
        END IF;
        RAISE WARNING 'the end of task % is written without what follows from it: %', NEW.id, SQLERRM;
    END;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION callboard.follow_move(t callboard.tasks, before text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF t.status = 'completed' AND t.actor IN ('agent', 'project_run') THEN
        PERFORM callboard.record_agent_event(t);
    END IF;
    IF t.actor = 'project_run' THEN
        PERFORM callboard.follow_run(t, before);
    END IF;
    IF t.workflow_id IS NOT NULL THEN
        PERFORM callboard.advance_workflow(t.workflow_id);
    END IF;
END $$;

CREATE OR REPLACE TRIGGER follow_task AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (
        (NEW.workflow_id IS NOT NULL OR NEW.actor = 'agent' OR NEW.actor = 'project_run')
        AND OLD.status <> NEW.status AND (NEW.status IN (/*finished*/) OR OLD.status = 'dead'))
    EXECUTE FUNCTION callboard.follow_task();
