-- Records what an agent has done, and queues the embedding of it. (Called by follow_task.)
CREATE OR REPLACE FUNCTION callboard.record_agent_event(t callboard.tasks) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RETURN;
END $$;
