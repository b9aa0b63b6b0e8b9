"""Worker processes: their identity and register, and the verbs with which they work."""
