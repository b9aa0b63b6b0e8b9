"""The agents of a shop for car parts, with their priorities. They need no keys. docs/agents.md shows them at work:

CALLBOARD_ACTORS=actors,examples.automechanica make up
.venv/bin/callboard agents
"""

from examples.automechanica import fitment, offers, orders, suppliers

__all__ = ["fitment", "offers", "orders", "suppliers"]
