-- Returns the newest agent events that fit the filters of newest_agent_events and have all words of a text. A common word is
-- found among the newest ones, one by one; a word that too few of these have is found by the index of words.
CREATE OR REPLACE FUNCTION callboard.newest_agent_events_with_words(
    wanted jsonb, words text, before_id text, most integer
) RETURNS TABLE (id text) LANGUAGE plpgsql STABLE
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    looked_at constant integer := 1000;
    asked tsquery := plainto_tsquery('simple', words);
    newest text[];
    found text[];
BEGIN
    newest := ARRAY(SELECT n.id FROM callboard.newest_agent_events(wanted, before_id, looked_at) AS n);
    found := ARRAY(
        SELECT e.id FROM unnest(newest) AS n (id) JOIN callboard.agent_events e ON e.id = n.id
        WHERE e.search @@ asked ORDER BY e.id DESC LIMIT most);
    RETURN QUERY SELECT * FROM unnest(found);
    IF cardinality(newest) < looked_at OR cardinality(found) >= most THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT f.id
    FROM (SELECT e.id FROM callboard.agent_events e
          WHERE e.search @@ asked AND e.hidden_at IS NULL AND e.id < newest[looked_at]
            AND (wanted ->> 'scope' IS NULL OR e.tenant = wanted ->> 'scope')
            AND (wanted ->> 'tenant' IS NULL OR e.tenant = wanted ->> 'tenant')
            AND (wanted ->> 'agent_name' IS NULL OR e.agent_name = wanted ->> 'agent_name')
            AND (wanted ->> 'task_type' IS NULL OR e.task_type = wanted ->> 'task_type')
            AND (wanted ->> 'since' IS NULL OR e.created_at >= (wanted ->> 'since')::timestamptz)
            AND (wanted ->> 'until' IS NULL OR e.created_at < (wanted ->> 'until')::timestamptz)
          OFFSET 0) AS f  -- the planner would rather go on to read the newest events one by one
    ORDER BY f.id DESC LIMIT most - cardinality(found);
END $$;
