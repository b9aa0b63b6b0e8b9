-- As resume, for many paused tasks: those that still fit the filter, without those that another session has locked.
WITH locked AS MATERIALIZED (
    SELECT t.id, t.queue, t.lane, t.priority, t.tenant FROM callboard.tasks t
    WHERE t.id = ANY (%(ids)s) AND t.status = 'paused' AND callboard.task_fits(t, %(wanted)s)
    ORDER BY t.id
    FOR NO KEY UPDATE SKIP LOCKED
), mine AS MATERIALIZED (
    SELECT locked.*, row_number() OVER (PARTITION BY queue, lane, priority, tenant ORDER BY id) - 1 AS follower
    FROM locked
), /*resume_mine*/
SELECT /*move_result*/ FROM moved m
