"""One attempt of a task inside a worker process."""
