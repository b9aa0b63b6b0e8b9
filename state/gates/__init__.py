"""Gates: what keeps a task from starting. Actors declare them with these names."""

from state.gates.declarations import Breaker, Gate, Rate

__all__ = ["Breaker", "Gate", "Rate"]
