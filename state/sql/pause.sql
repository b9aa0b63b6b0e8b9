-- Pauses a task that no worker runs. A running task is asked to stop: its worker sees the request at its next pulse. A
-- request to cancel is not taken back by one to pause. A task that has used more than its tokens could not go on after
-- the pause: it is dead.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.status, t.status <> 'running' OR t.cancel_requested IS NULL AS is_new,
           t.status <> 'running' AND t.tokens > %(token_limit)s AS spent
    FROM callboard.tasks t
    WHERE t.id = %(id)s AND t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
      AND (t.status IN (/*startable*/) OR t.status = 'running' AND coalesce(t.cancel_requested, 'pause') = 'pause')
      AND /*lock_parent*/
    FOR NO KEY UPDATE
), /*pause_mine*/
SELECT /*move_result*/ FROM moved m
