"""Agents: the catalog of what they can do, and the rule that their code does not create tasks."""
