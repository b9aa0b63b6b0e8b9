"""What time changes: due, lost and too old tasks. Any worker does it each second; two at once do no harm."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from state.bell import ring_tasks, ring_work
from state.connection import Row
from state.database import connection, fetch_often, retrying
from state.gates import wake
from state.logs import log_transitions
from state.statements import statement
from state.workers import stopped

BATCH = 1000


@dataclass(slots=True)
class Swept:
    """What one sweep found, by kind."""

    due: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)

    @property
    def more(self) -> bool:
        return any(len(rows) >= BATCH for rows in (self.due, self.lost, self.expired))


@retrying
def sweep(dead_workers: Sequence[str] = ()) -> Swept:
    """One bounded statement for each kind, each its own transaction."""
    swept = Swept(
        lost=fetch_often("sweep_lost", {"limit": BATCH, "dead_workers": list(dead_workers)}),
        expired=fetch_often("sweep_expired", {"limit": BATCH}),
        due=fetch_often("sweep_due", {"limit": BATCH}),
    )
    moved = [*swept.lost, *swept.expired, *swept.due]
    if moved:
        log_transitions(moved)
        ring_tasks(row["id"] for row in moved)
        ring_work({row["queue"] for row in moved if row["status"] == "queued"})
        wake(gate for row in moved if row["status"] != "queued" or row in swept.lost for gate in row["gates"])
    if dead_workers and len(swept.lost) < BATCH:
        stopped(dead_workers)
    return swept


@retrying
def sweep_leftovers() -> None:
    """Answers kept for repetition, dedup keys and gate results whose time is over."""
    with connection() as used:
        used.execute(statement("sweep_gate_history"))
