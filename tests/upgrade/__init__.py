"""The previous release on the new schema."""
