"""Who calls: API keys, and what a caller may see and do."""
