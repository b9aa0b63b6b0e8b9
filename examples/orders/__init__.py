"""Submits a task in the caller's own transaction. Start the workers in one terminal, and the program in another:

CALLBOARD_ACTORS=actors,examples.orders.actors make up
.venv/bin/python -m examples.orders
"""
