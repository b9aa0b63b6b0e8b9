-- In the UPDATE of a task: set by every move. The move's own event gets the number last_event.
last_event = t.last_event + 1, updated_at = callboard.now()
