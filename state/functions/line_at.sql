-- Returns the first of these gates that has a line, which a new task joins at once; NULL if none has one.
CREATE OR REPLACE FUNCTION callboard.line_at(its_gates text[]) RETURNS text LANGUAGE plpgsql STABLE STRICT
SET enable_seqscan = off  -- finds rows by the index, whatever the statistics say
AS $$
BEGIN
    RETURN (SELECT t.waiting_gate FROM callboard.tasks t
            WHERE t.status = 'waiting' AND t.waiting_gate = ANY (its_gates) LIMIT 1);
END $$;
