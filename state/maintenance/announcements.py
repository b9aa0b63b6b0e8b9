"""What follows a move that nobody asked for: a line in the log, wake-ups, and the next at the gates that were left."""

from state.database.connection import Row
from state.database.notifier import notify_tasks, notify_work
from state.gates.waking import wake
from state.logs import Level, log_transitions_as


def announce(rows: list[Row], *, left_gates: bool, level: Level = "info") -> None:
    """After the commit of the moves, never in it."""
    if not rows:
        return
    log_transitions_as(level, rows)
    notify_tasks(row["id"] for row in rows)
    notify_work({row["queue"] for row in rows if row["status"] == "queued"})
    if left_gates:
        wake(gate for row in rows for gate in row["gates"])


def announce_losses(rows: list[Row]) -> None:
    """A lost worker is worth a warning; a task that has died of it is an error."""
    announce([row for row in rows if row["status"] != "dead"], left_gates=True, level="warning")
    announce([row for row in rows if row["status"] == "dead"], left_gates=True, level="error")
