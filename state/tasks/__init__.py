"""The verbs and reads of tasks."""
