"""Projects: items to work off, and the queue that does it, one run after the other."""
