"""The verbs of worker processes."""
