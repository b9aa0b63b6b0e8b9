"""The maintainer: the one worker process that does the cluster's housekeeping, elected by a row with a lease."""

from state.database.pool import connection, fetch_often, retrying
from state.database.statements import statement

LEASE_SECONDS = 3.0


@retrying
def become_maintainer(worker: str) -> bool:
    """Takes the place if it is vacant, or renews the lease if it is ours. False while another one has it."""
    return bool(fetch_often("maintainer_take", {"worker": worker, "seconds": LEASE_SECONDS}))


@retrying
def resign(worker: str) -> None:
    """Does nothing if another one has taken over already."""
    with connection() as used:
        used.execute(statement("maintainer_resign"), {"worker": worker})
