-- CTEs that resume the tasks that a CTE `mine` has locked: id, queue, lane, priority, tenant, follower.
/*rank_mine*/, moved AS (
    UPDATE callboard.tasks t
    SET status = 'queued',
        rank = m.rank,
        available_at = least(t.available_at, callboard.now()),
        expires_at = t.expires_at + (callboard.now() - t.updated_at),
        progress = NULL,  -- it says that the task was interrupted
        /*leave_line*/,
        /*count_move*/
    FROM ranked m
    WHERE t.id = m.id
    RETURNING /*moved_task*/, 'paused' AS before
), logged AS (
    /*log_move*/ jsonb_strip_nulls(jsonb_build_object('from', 'paused', 'to', 'queued', 'reason', 'resumed', 'by', %(by)s::text))
    FROM moved m
)
