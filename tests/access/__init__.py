"""API keys, and who may do what."""
