"""Output of what workers do, for `callboard workers` and `callboard overview`."""

from typing import Any

from rich.text import Text


def format_state(worker: dict[str, Any]) -> Text:
    if not worker["alive"]:
        return Text("silent", style="bold red")
    if worker["stopping_at"] is not None:
        return Text("stopping", style="yellow")
    return Text("alive, maintainer" if worker["maintainer"] else "alive", style="green")
