-- What a task shows before its code has said anything in this attempt.
CREATE OR REPLACE FUNCTION callboard.starting_progress(attempts_used integer) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT jsonb_build_object(
        'percent', 0,
        'message', CASE WHEN attempts_used = 0 THEN 'Queued' ELSE 'Retrying (attempt ' || attempts_used + 1 || ')' END,
        'elapsed_ms', 0,
        'updated_at', callboard.now())
$$;
