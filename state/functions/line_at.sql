-- Where a line has formed at one of these gates, a new task joins it at once. NULL: it may try.
CREATE OR REPLACE FUNCTION callboard.line_at(its_gates text[]) RETURNS text LANGUAGE plpgsql STABLE STRICT
SET enable_seqscan = off  -- whatever the statistics say
AS $$
BEGIN
    RETURN (SELECT t.waiting_gate FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = ANY (its_gates) LIMIT 1);
END $$;
