-- What follows when a task ends, or is revived, in the transaction that does it, whichever statement that is: an agent's
-- event is recorded, a project's run ends, a workflow goes on. Our own statements have locked the project or the workflow
-- before the task (fragments lock_parent and try_lock_parent), so nothing waits here.
--
-- The end of a task is kept whatever becomes of the rest: a paid-for result must not be lost because a workflow's data is
-- bad. An error of that kind is a warning in the log of Postgres; the sweep tries a workflow or a run again. Other errors (a
-- deadlock, a lock timeout, no disk) undo everything, and the end is written again. A revival is refused by any error.
CREATE OR REPLACE FUNCTION callboard.follow_task() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_end constant boolean := NEW.status IN (/*finished*/);
BEGIN
    IF NEW.status = 'completed' AND NEW.actor IN ('agent', 'project_run') THEN
        PERFORM callboard.follow_by('agent event', NEW, OLD.status, is_end);
    END IF;
    IF NEW.actor = 'project_run' THEN
        PERFORM callboard.follow_by('run', NEW, OLD.status, is_end);
    END IF;
    IF NEW.workflow_id IS NOT NULL THEN
        PERFORM callboard.follow_by('workflow', NEW, OLD.status, is_end);
    END IF;
    RETURN NULL;
END $$;

-- Each part by itself: an agent event that cannot be written does not hold up the workflow.
CREATE OR REPLACE FUNCTION callboard.follow_by(part text, t callboard.tasks, before text, may_fail boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    CASE part
        WHEN 'agent event' THEN PERFORM callboard.record_agent_event(t);
        WHEN 'run' THEN PERFORM callboard.follow_run(t, before);
        WHEN 'workflow' THEN PERFORM callboard.advance_workflow(t.workflow_id);
    END CASE;
EXCEPTION WHEN OTHERS THEN
    IF NOT may_fail OR SQLSTATE !~ '^(21|22|23|42|54|CB|P0)' THEN
        RAISE;
    END IF;
    RAISE WARNING 'the end of task % is written without what follows from it (%): %', t.id, part, SQLERRM;
END $$;

CREATE OR REPLACE TRIGGER follow_task AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (
        (NEW.workflow_id IS NOT NULL OR NEW.actor = 'agent' OR NEW.actor = 'project_run')
        AND OLD.status <> NEW.status AND (NEW.status IN (/*finished*/) OR OLD.status = 'dead'))
    EXECUTE FUNCTION callboard.follow_task();
