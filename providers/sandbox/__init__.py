"""Commands in sandboxes. Nothing is imported here, because the supervisor of each one must load fast."""
