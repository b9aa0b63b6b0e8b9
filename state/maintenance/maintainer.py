"""The maintainer: the one worker process that does the cluster's housekeeping, elected by a row with a lease."""

from state.database import fetch, retrying

LEASE_SECONDS = 3.0


@retrying
def become_maintainer(worker: str) -> bool:
    """Takes the lease if it is vacant, or renews it. Returns False while another worker has it."""
    return bool(fetch("maintainer_take", {"worker": worker, "seconds": LEASE_SECONDS}))


@retrying
def resign(worker: str) -> None:
    """Gives up the lease. Does nothing if another worker has it already."""
    fetch("maintainer_resign", {"worker": worker})
