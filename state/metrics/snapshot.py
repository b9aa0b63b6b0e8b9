"""The state of the whole system as numbers, for a program that asks every few seconds and keeps their history."""

from dataclasses import dataclass

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch, fetch_one, retrying
from state.settings import get_settings
from state.tasks import catalog
from state.transitions import STATUSES


@dataclass(frozen=True, slots=True)
class Snapshot:
    tasks: dict[str, int]  # by status
    queues: list[Row]  # queue, primary, retry, running, paused
    oldest: list[Row]  # queue, seconds: the longest time that a queued task waits
    dead: list[Row]  # actor, error_type, tasks
    gates: list[Row]  # key, running, max_concurrent, waiting, closed, breaker_state
    workers: int
    maintained: bool  # whether a worker does the housekeeping of the cluster
    schedule_lag_seconds: float  # of the most overdue schedule


@retrying
def take_snapshot(*, caller: Caller = SYSTEM) -> Snapshot:
    require_no_tenant(caller)
    counts = {row["status"]: row["tasks"] for row in fetch("status_counts", {})}
    system = fetch_one("metrics_system", {"lease_seconds": get_settings().lease_seconds}) or {}
    return Snapshot(
        tasks={status: counts.get(status, 0) for status in STATUSES},
        queues=fetch("queue_counts", {"queues": catalog.list_queues()}),
        oldest=fetch("oldest_queued", {}),
        dead=fetch("metrics_dead_letters", {}),
        gates=fetch("metrics_gates", {}),
        **system,
    )
