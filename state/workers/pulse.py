"""The pulse of a worker: renews its leases, and learns what an idle worker must know."""

from collections.abc import Sequence
from dataclasses import dataclass

from state.database import Connection, Parameters, fetch
from state.maintenance.maintainer import LEASE_SECONDS
from state.settings import get_settings
from state.workers.identity import Sibling


@dataclass(frozen=True, slots=True)
class HeldLease:
    id: str
    epoch: int
    claim_number: int
    cancel_requested: str | None
    renewed: bool  # False: another transaction has locked it, and it still ends when it did before


@dataclass(frozen=True, slots=True)
class Pulse:
    leases: list[HeldLease]
    has_work: bool  # a task is queued in one of the worker's queues that is not paused
    retry_depth: int  # of the retry lane, counted up to the given limit
    siblings: list[Sibling]
    maintainer_vacant: bool
    open_sandboxes: bool  # a sandbox of this host has not ended
    registered: bool  # False: the database has forgotten the worker, in a failover for instance


def send_pulse(
    connection: Connection, worker: str, queues: Sequence[str], retry_limit: int, *, stopping: bool = False
) -> Pulse:
    """Renews the worker's leases. Returns them, with the requests to stop their tasks. `stopping`: the worker shuts
    down."""
    parameters: Parameters = {
        "worker": worker,
        "lease_seconds": get_settings().lease_seconds,
        "queues": list(queues),
        "retry_limit": retry_limit,
        "maintainer_seconds": LEASE_SECONDS,
        "stopping": stopping,
    }
    [row] = fetch("pulse", parameters, connection)
    return Pulse(
        leases=[HeldLease(**lease) for lease in row["leases"]],
        has_work=row["has_work"],
        retry_depth=row["retry_depth"],
        siblings=[Sibling(**sibling) for sibling in row["siblings"]],
        maintainer_vacant=row["maintainer_vacant"],
        open_sandboxes=row["open_sandboxes"],
        registered=row["registered"],
    )
