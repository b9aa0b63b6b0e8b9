-- Returns the agent events that have words of a text, the best first. Ranking reads each event, and a common word is in
-- nearly all of them, so only some are ranked: the newest 1000 that have all words, and of each of the longest words,
-- which are rarer than short ones, the newest 200.
CREATE OR REPLACE FUNCTION callboard.agent_events_with_words(
    words text, of_tenant text, any_tenant boolean, of_agent text, of_type text, most integer
) RETURNS TABLE (id text, score double precision) LANGUAGE plpgsql STABLE
SET enable_seqscan = off  -- finds events by the index of words, whatever the statistics say
AS $$
DECLARE
    asked tsquery[] := ARRAY(
        SELECT w.query FROM (SELECT plainto_tsquery('simple', l.lexeme) AS query, length(l.lexeme) AS letters
                             FROM unnest(to_tsvector('simple', words)) AS l) AS w
        WHERE numnode(w.query) > 0 ORDER BY w.letters DESC LIMIT 12);
    all_words tsquery := (SELECT string_agg('(' || q::text || ')', ' & ')::tsquery FROM unnest(asked) AS q);
    any_word tsquery := (SELECT string_agg('(' || q::text || ')', ' | ')::tsquery FROM unnest(asked) AS q);
BEGIN
    RETURN QUERY
    WITH candidates AS (
        SELECT n.id
        FROM (SELECT all_words AS query, 1000 AS newest UNION ALL SELECT q, 200 FROM unnest(asked) AS q) AS s, LATERAL (
            SELECT f.id
            FROM (SELECT e.id, e.hidden_at FROM callboard.agent_events e
                  WHERE e.search @@ s.query
                    AND (any_tenant OR coalesce(e.tenant, '') = coalesce(of_tenant, ''))
                    AND (of_agent IS NULL OR e.agent_name = of_agent) AND (of_type IS NULL OR e.task_type = of_type)
                  OFFSET 0) AS f  -- the planner would rather read the newest events one by one than search for words
            WHERE f.hidden_at IS NULL  -- inside, it would let the planner read the whole list of agent events instead
            ORDER BY f.id DESC LIMIT s.newest) AS n
        GROUP BY n.id
    )
    SELECT e.id, ts_rank(e.search, any_word, 32)::double precision
    FROM candidates c JOIN callboard.agent_events e ON e.id = c.id
    ORDER BY 2 DESC, e.id DESC LIMIT most;
END $$;
