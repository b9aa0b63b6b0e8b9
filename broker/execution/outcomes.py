"""How an execution ended, as it is written."""

from typing import Any

from broker.execution.failures import choose_delay, describe, find_requested_wait
from state.errors import UnknownActor
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY
from state.workers.leases import Claimed, Settlement


def completed(claimed: Claimed, result: Any) -> Settlement:
    return Settlement(claimed.id, claimed.epoch, "completed", result=result)


def released(claimed: Claimed) -> Settlement:
    """Returns the end of an execution that was stopped from outside. The request that the task's row holds decides
    where the task goes: paused, canceled, or back to the queue."""
    return Settlement(claimed.id, claimed.epoch, "released")


def failed(claimed: Claimed, exception: BaseException) -> Settlement:
    try:
        policy = catalog.get(claimed.actor).policy
    except UnknownActor:
        policy = STANDARD_POLICY
    error = describe(exception)
    requested = find_requested_wait(exception) if error["category"] != "permanent" else None
    delay = choose_delay(error, requested, policy, claimed.attempt - claimed.attempts_before)
    return Settlement(claimed.id, claimed.epoch, "failed", error=error, retry_seconds=delay, retry_after=requested)
