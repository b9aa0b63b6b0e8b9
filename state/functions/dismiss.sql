-- Cancels dead letters that nobody wants any more.
CREATE OR REPLACE FUNCTION callboard.dismiss(ids text[], by_whom text) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, before text, status text, gates text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.hidden_at IS NULL AND /*lock_parent*/
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'canceled', finished_at = callboard.now(), /*count_move*/
        FROM mine m
        WHERE t.id = m.id
        RETURNING /*moved_task*/, 'dead' AS before
    ), logged AS (
        /*log_move*/ jsonb_strip_nulls(jsonb_build_object(
            'from', 'dead', 'to', 'canceled', 'reason', 'dismissed', 'by', by_whom)) FROM moved m
    )
    SELECT /*move_result*/ FROM moved m;
END $$;
