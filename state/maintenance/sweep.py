"""What time changes: due, lost and too old tasks. The maintainer does it each second; two at once do no harm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from state.database.connection import Row
from state.database.pool import connection, fetch_often, retrying
from state.database.statements import statement
from state.maintenance.announcements import announce
from state.maintenance.losses import BATCH, recover, sweep_silent
from state.maintenance.silence import Sign
from state.settings import get_settings


@dataclass(slots=True)
class Swept:
    """What one sweep found, by kind."""

    due: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)

    @property
    def more(self) -> bool:
        return any(len(rows) >= BATCH for rows in (self.due, self.expired))


_ask = retrying(fetch_often)


def sweep(dead_workers: Sequence[str] = (), silent: Mapping[str, Sign] | None = None) -> Swept:
    """One bounded statement for each kind, each its own transaction."""
    return Swept(lost=[*recover(dead_workers), *sweep_silent(silent or {})], expired=sweep_expired(), due=sweep_due())


def sweep_due() -> list[Row]:
    rows = _ask("sweep_due", {"limit": BATCH})
    announce(rows, left_gates=False)
    return rows


def sweep_expired() -> list[Row]:
    rows = _ask("sweep_expired", {"limit": BATCH})
    announce(rows, left_gates=True)
    return rows


def sweep_unknown() -> list[Row]:
    """Tasks that have waited for a worker that knows their actor for too long."""
    rows = _ask("sweep_unknown", {"limit": BATCH, "seconds": get_settings().unknown_actor_seconds})
    announce(rows, left_gates=True, level="error")
    return rows


def read_signs() -> dict[str, Sign]:
    """Of all workers that should be alive, or have leases, for an observer of their silence."""
    return {row["worker_id"]: Sign(row["seen_at"], row["renewed_at"]) for row in _ask("worker_signs", {})}


@retrying
def sweep_leftovers() -> None:
    """Answers kept for repetition, dedup keys and gate results whose time is over."""
    with connection() as used:
        used.execute(statement("sweep_gate_history"))
