-- Puts a paused task back into the queue. It keeps its lane and its checkpoint; the time of the pause is not counted
-- into its age.
WITH mine AS MATERIALIZED (
    SELECT t.id FROM callboard.tasks t WHERE t.id = %(id)s AND t.status = 'paused' AND (/*in_scope*/ t.tenant) FOR NO KEY UPDATE
), moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        rank = callboard.entry_rank(t.queue, t.lane, t.priority, t.tenant),
        available_at = least(t.available_at, callboard.now()),
        expires_at = t.expires_at + (callboard.now() - t.updated_at),
        progress = NULL,  -- it says that the task was interrupted
        /*leave_line*/,
        /*count_move*/
    FROM mine m
    WHERE t.id = m.id
    RETURNING /*moved_task*/, 'paused' AS before
), logged AS (
    /*log_move*/ jsonb_strip_nulls(jsonb_build_object('from', 'paused', 'to', 'queued', 'reason', 'resumed', 'by', %(by)s::text))
    FROM moved m
)
SELECT /*move_result*/ FROM moved m
