-- Writes what the end of a run, or its revival, means for its project. (Called by follow_task.)
CREATE OR REPLACE FUNCTION callboard.follow_run(t callboard.tasks, before text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RETURN;
END $$;
