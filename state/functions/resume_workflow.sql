-- Lets a failed or escalated workflow go on, if enough of it was repaired. Approvals that wait get their whole time again;
-- those that have expired wait again.
-- Returns the status that the workflow had and the failures that are left; no row: there is no such workflow.
CREATE OR REPLACE FUNCTION callboard.resume_workflow(its_id text, by_whom text)
RETURNS TABLE (status text, resumed boolean, steps text[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    w record;
    failed text[];
    expired text[];
    its_key text;
BEGIN
    PERFORM FROM callboard.workflows w WHERE w.id = its_id FOR NO KEY UPDATE;
    PERFORM callboard.sync_steps(its_id);
    SELECT x.status, x.failure_threshold INTO w FROM callboard.workflows x WHERE x.id = its_id;
    IF w.status IS NULL THEN
        RETURN;
    END IF;
    failed := ARRAY(SELECT s.key FROM callboard.workflow_steps s
                    WHERE s.workflow_id = its_id AND s.status IN ('dead', 'rejected') ORDER BY s.position);
    expired := ARRAY(SELECT s.key FROM callboard.workflow_steps s
                     WHERE s.workflow_id = its_id AND s.status = 'expired' ORDER BY s.position);
    IF w.status NOT IN ('failed', 'escalated')
       OR callboard.count_failures(its_id) - cardinality(expired) >= w.failure_threshold THEN
        RETURN QUERY SELECT w.status, false, failed;
        RETURN;
    END IF;
    PERFORM callboard.move_workflow(its_id, 'running', 'resumed', by_whom);
    FOREACH its_key IN ARRAY expired LOOP
        PERFORM callboard.move_step(its_id, its_key, 'waiting', '{}');
    END LOOP;
    UPDATE callboard.workflow_steps s SET expires_at = callboard.now() + make_interval(secs => s.expires_seconds)
    WHERE s.workflow_id = its_id AND s.status = 'waiting';
    PERFORM callboard.advance_workflow(its_id);
    RETURN QUERY SELECT w.status, true, failed;
END $$;
