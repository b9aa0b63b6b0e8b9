"""The state of everything at a glance: what an operator looks at first."""
