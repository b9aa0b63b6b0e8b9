-- Writes the decision on an approval that waits, and goes on. Returns what the step is now, and whether it was decided so,
-- now or before; no row: there is no such workflow.
CREATE OR REPLACE FUNCTION callboard.decide_step(
    its_id text, its_key text, its_decision text, by_whom text, its_note text
) RETURNS TABLE (kind text, status text, decided boolean) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    s record;
BEGIN
    PERFORM FROM callboard.workflows w WHERE w.id = its_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM callboard.advance_workflow(its_id);  -- it may have expired
    SELECT x.kind, x.status, x.decision INTO s
    FROM callboard.workflow_steps x WHERE x.workflow_id = its_id AND x.key = its_key;
    IF s.kind = 'approval' AND s.status = 'waiting' THEN
        UPDATE callboard.workflow_steps x
        SET decision = its_decision, decided_by = by_whom, note = its_note, decided_at = callboard.now()
        WHERE x.workflow_id = its_id AND x.key = its_key;
        PERFORM callboard.move_step(
            its_id, its_key, CASE its_decision WHEN 'approved' THEN 'completed' ELSE 'rejected' END,
            jsonb_strip_nulls(jsonb_build_object('decision', its_decision, 'by', by_whom, 'note', its_note)));
        PERFORM callboard.advance_workflow(its_id);
        SELECT x.kind, x.status, x.decision INTO s
        FROM callboard.workflow_steps x WHERE x.workflow_id = its_id AND x.key = its_key;
    END IF;
    RETURN QUERY SELECT s.kind, s.status, s.decision IS NOT NULL AND s.decision = its_decision;
END $$;
