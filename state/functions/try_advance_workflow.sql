-- Goes on with a workflow unless another session has locked it. Returns whether anything has changed. (Called by the
-- sweep.)
CREATE OR REPLACE FUNCTION callboard.try_advance_workflow(its_id text) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    before integer;
BEGIN
    PERFORM FROM callboard.workflows w WHERE w.id = its_id FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT w.last_event INTO before FROM callboard.workflows w WHERE w.id = its_id;
    PERFORM callboard.advance_workflow(its_id);
    RETURN (SELECT w.last_event > before FROM callboard.workflows w WHERE w.id = its_id);
END $$;
