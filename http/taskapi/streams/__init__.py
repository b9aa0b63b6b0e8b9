"""Server-sent events: the history of a task and the status of the queues, live."""
