"""The maintainer: the one worker process that does the cluster's housekeeping, elected by a row with a lease."""

from collections.abc import Mapping
from dataclasses import dataclass

from state.database import fetch_one, retrying
from state.maintenance.silence import LastSeen

LEASE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Due:
    """What there is to do in a turn."""

    schedules: bool  # schedules whose tick has come
    scheduled: bool  # tasks whose time has come
    expired: bool  # tasks that have grown too old
    awaited: bool  # tasks wait for a worker that knows their actor
    lines: bool  # tasks wait at gates
    last_seen: Mapping[str, LastSeen]  # the workers that should be alive, or have leases


@retrying
def become_maintainer(worker: str) -> Due | None:
    """Takes the lease if it is vacant, or renews it. Returns what there is to do, or None while another worker has the
    lease. One statement, so that an idle maintainer asks nothing else."""
    row = fetch_one("maintainer_take", {"worker": worker, "seconds": LEASE_SECONDS})
    if row is None:
        return None
    seen = zip(row.pop("workers"), row.pop("seen_at"), row.pop("renewed_at"), strict=True)
    return Due(**row, last_seen={each: LastSeen(seen_at, renewed_at) for each, seen_at, renewed_at in seen})


@retrying
def resign(worker: str) -> None:
    """Gives up the lease. Does nothing if another worker has it already."""
    fetch_one("maintainer_resign", {"worker": worker})
