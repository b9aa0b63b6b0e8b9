-- After RETURNING in the UPDATE of a task, in a CTE `moved`: the columns that log_move and move_result read. The
-- statement adds `before`, the status that the task had.
t.id, t.epoch, t.actor, t.queue, t.gates, t.status, t.last_event
