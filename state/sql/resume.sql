-- Puts a paused task back into the queue. It keeps its lane and its checkpoint; the time of the pause is not counted
-- into its age.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.queue, t.lane, t.priority, t.tenant, 0 AS follower FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.status = 'paused' AND (/*in_scope*/ t.tenant)
    FOR NO KEY UPDATE
), /*resume_mine*/
SELECT /*move_result*/ FROM moved m
