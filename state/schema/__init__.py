"""The database's schema: its files, its version, and how it is migrated."""
