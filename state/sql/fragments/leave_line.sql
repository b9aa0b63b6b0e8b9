-- In the UPDATE of a task: set by a move that takes a queued or waiting task away from all its gates. A task that goes
-- from the queue to a line, or back, sets these columns itself.
waiting_gate = NULL, waiting_reason = NULL, woken_for = NULL, woken_at = NULL, bounces = 0
