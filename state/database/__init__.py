"""Connections to Postgres: pool, named statements, notifications, the embedded server."""
