-- Goes on with a workflow after one of its tasks has ended or was revived. (Called by follow_task.)
CREATE OR REPLACE FUNCTION callboard.advance_workflow(its_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RETURN;
END $$;
