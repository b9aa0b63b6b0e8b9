"""The execution of tasks: one attempt of a task inside a worker process."""
