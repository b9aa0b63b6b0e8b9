"""The connection to Dramatiq and dramatiq-pg."""
