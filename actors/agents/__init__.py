"""The built-in agents, one file each. Other packages declare theirs with `@agent` in a module of CALLBOARD_ACTORS."""

from actors.agents import analytics, assistant, command, media, text, writer

__all__ = ["analytics", "assistant", "command", "media", "text", "writer"]
