"""A worker process: its threads other than those that run tasks."""
