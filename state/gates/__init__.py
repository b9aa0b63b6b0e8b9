"""Gates: conditions that a task must pass to start. Actors declare them with these classes."""

from state.gates.declarations import Breaker, Gate, Rate

__all__ = ["Breaker", "Gate", "Rate"]
