-- What follows when a task ends, or is revived, in the transaction that does it, whichever statement that is: an agent's
-- event is recorded, a project's run ends, a workflow goes on. Our own statements have locked the project or the workflow
-- before the task (fragments lock_parent and try_lock_parent), so nothing waits here.
CREATE OR REPLACE FUNCTION callboard.follow_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'completed' AND NEW.actor IN ('agent', 'project_run') THEN
        PERFORM callboard.record_agent_event(NEW);
    END IF;
    IF NEW.actor = 'project_run' THEN
        PERFORM callboard.follow_run(NEW, OLD.status);
    END IF;
    IF NEW.workflow_id IS NOT NULL THEN
        PERFORM callboard.advance_workflow(NEW.workflow_id);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER follow_task AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (
        (NEW.workflow_id IS NOT NULL OR NEW.actor = 'agent' OR NEW.actor = 'project_run')
        AND OLD.status <> NEW.status AND (NEW.status IN (/*finished*/) OR OLD.status = 'dead'))
    EXECUTE FUNCTION callboard.follow_task();
