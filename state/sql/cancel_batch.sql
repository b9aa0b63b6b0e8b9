-- As cancel, for many tasks: those that still fit the filter, without those that another session has locked. A running one
-- that was asked to stop already is not asked again.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status FROM callboard.tasks t
    WHERE t.id = ANY (%(ids)s) AND t.status IN (/*live*/) AND callboard.task_fits(t, %(wanted)s)
      AND (t.status <> 'running' OR coalesce(t.cancel_requested, 'pause') = 'pause') AND /*try_lock_parent*/
    ORDER BY t.id
    FOR NO KEY UPDATE SKIP LOCKED
), /*cancel_mine*/
SELECT /*move_result*/ FROM moved m
