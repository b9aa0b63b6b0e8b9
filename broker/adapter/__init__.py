"""Connects tasks to Dramatiq and dramatiq-pg."""
