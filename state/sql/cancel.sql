-- Cancels a task that no worker runs. A running task is asked to stop: its worker sees the request at its next pulse.
-- Returns no row for a task that is finished.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.status IN (/*live*/) AND (/*in_scope*/ t.tenant) AND /*lock_parent*/
    FOR NO KEY UPDATE
), /*cancel_mine*/
SELECT /*move_result*/ FROM moved m
