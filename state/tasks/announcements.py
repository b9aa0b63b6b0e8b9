"""Announces committed moves: writes the log, sends hints, and wakes the next tasks at the gates that were
left."""

from collections.abc import Sequence

from state.database import Row
from state.database.notifier import notify_tasks, notify_work
from state.gates.waking import wake
from state.logs import Level, log_transitions_as
from state.tasks.followers import announce_followers


def announce(rows: Sequence[Row], *, left_gates: bool, level: Level = "info", by: str | None = None) -> None:
    """Announces moves, given the rows of their statement. After the commit, never in the transaction. `by`: who has
    asked for them, for the log."""
    if not rows:
        return
    log_transitions_as(level, rows, by=by)
    notify_tasks(row["id"] for row in rows)
    notify_work({row["queue"] for row in rows if row["status"] == "queued"})
    announce_followers(rows)
    if left_gates:
        wake(gate for row in rows for gate in row["gates"])


def announce_losses(rows: Sequence[Row]) -> None:
    """A task of a lost worker is logged as a warning; one that has died of it, as an error."""
    announce([row for row in rows if row["status"] != "dead"], left_gates=True, level="warning")
    announce([row for row in rows if row["status"] == "dead"], left_gates=True, level="error")
