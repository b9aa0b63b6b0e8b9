-- As pause, for many tasks: those that still fit the filter, without those that another session has locked. A running one
-- that was asked to stop already is not asked again.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status, true AS is_new, t.status <> 'running' AND t.tokens > %(token_limit)s AS spent
    FROM callboard.tasks t
    WHERE t.id = ANY (%(ids)s) AND callboard.task_fits(t, %(wanted)s)
      AND (t.status IN (/*startable*/) OR t.status = 'running' AND t.cancel_requested IS NULL) AND /*try_lock_parent*/
    ORDER BY t.id
    FOR NO KEY UPDATE SKIP LOCKED
), /*pause_mine*/
SELECT /*move_result*/ FROM moved m
