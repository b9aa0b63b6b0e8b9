"""The threads of a worker process beside those that run tasks."""
