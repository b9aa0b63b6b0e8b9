"""Sandboxes: the commands that tasks run, as rows that every process can find."""

from state.sandboxes.rows import OpenSandbox, close_sandbox, list_on_this_host, list_unended, open_sandbox

__all__ = ["OpenSandbox", "close_sandbox", "list_on_this_host", "list_unended", "open_sandbox"]
