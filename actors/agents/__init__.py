"""The built-in agents, one file each. Other packages declare theirs with `@agent` in a module of CALLBOARD_ACTORS."""

from actors.agents import analytics, assistant, command, text, writer

__all__ = ["analytics", "assistant", "command", "text", "writer"]
