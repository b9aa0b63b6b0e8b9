-- Dismisses those of the tasks that still fit the filter, without those that another session has locked.
SELECT /*move_result*/ FROM callboard.dismiss(ARRAY(
    SELECT t.id FROM callboard.tasks t
    WHERE t.id = ANY (%(ids)s) AND t.status = 'dead' AND callboard.task_fits(t, %(wanted)s)
      AND /*try_lock_parent*/
    ORDER BY t.id
    FOR NO KEY UPDATE SKIP LOCKED
), %(by)s) AS m
