"""Sweeps: moves of tasks that are due, lost or too old. The maintainer does them each second; two processes may do them
at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from state.database import Row, fetch, retrying
from state.maintenance.losses import BATCH, recover, sweep_silent
from state.maintenance.silence import LastSeen
from state.settings import get_settings
from state.tasks.announcements import announce

_MANY_COUNTS = 200  # an idle cluster writes nothing
_MOST_COUNTS = 200_000  # in one statement


@dataclass(slots=True)
class Swept:
    """The rows of the tasks that a sweep moved, by the reason."""

    due: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)

    @property
    def more(self) -> bool:
        return any(len(rows) >= BATCH for rows in (self.due, self.expired))


_fetch = retrying(fetch)


def sweep(dead_workers: Sequence[str] = (), silent: Mapping[str, LastSeen] | None = None) -> Swept:
    """Runs one bounded statement for each reason, each in its own transaction."""
    return Swept(lost=[*recover(dead_workers), *sweep_silent(silent or {})], expired=sweep_expired(), due=sweep_due())


def sweep_due() -> list[Row]:
    rows = _fetch("sweep_due", {"limit": BATCH})
    announce(rows, left_gates=False)
    return rows


def sweep_expired() -> list[Row]:
    rows = _fetch("sweep_expired", {"limit": BATCH})
    announce(rows, left_gates=True)
    return rows


def sweep_unknown() -> list[Row]:
    """Ends tasks that have waited too long for a worker that knows their actor."""
    rows = _fetch("sweep_unknown", {"limit": BATCH, "seconds": get_settings().unknown_actor_seconds})
    announce(rows, left_gates=True, level="error")
    return rows


def read_last_seen() -> dict[str, LastSeen]:
    """Returns when each worker was last seen that should be alive, or has leases."""
    return {row["worker_id"]: LastSeen(row["seen_at"], row["renewed_at"]) for row in _fetch("workers_last_seen", {})}


def remove_leftovers() -> None:
    """Removes idempotent answers, dedup keys and results at gates that have expired, and adds up the counts of finished
    tasks."""
    _fetch("sweep_gate_history", {})
    _fetch("recount_dead_letters", {})
    _fetch("fold_finished_counts", {"limit": _MOST_COUNTS, "least": _MANY_COUNTS})
