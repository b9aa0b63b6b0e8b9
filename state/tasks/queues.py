"""Queues as a whole: how many tasks they have, and pausing them."""

from typing import Any

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch, fetch_one, retrying
from state.errors import InvalidPayload
from state.gates.operations import put_gate
from state.settings import get_settings
from state.tasks import catalog
from state.transitions import STATUSES
from state.workers.leases import get_retry_depth

RESERVED = ("dlq", "status", "stream")  # routes below /queues


def get_retry_share(depth: int) -> float:
    """Returns the share of starts that goes to the retry lane: the longer the lane, the smaller its share, so that many
    retries do not hold up new tasks."""
    settings = get_settings()
    if depth > settings.retry_critical:
        return settings.retry_share_critical
    return settings.retry_share_warning if depth >= settings.retry_warning else settings.retry_share


@retrying
def get_queue_status(*, caller: Caller = SYSTEM) -> dict[str, Any]:
    require_no_tenant(caller)
    queues = catalog.list_queues()
    counts = {row["status"]: row["tasks"] for row in fetch("status_counts", {})}
    states = {status: counts.get(status, 0) for status in STATUSES}
    by_queue = fetch("queue_counts", {"queues": queues})
    lanes = fetch_one("lane_counts", {}) or {}
    depth = get_retry_depth(queues, get_settings().retry_critical + 1)
    return {
        "queues": {
            "primary": lanes["primary_depth"],
            "retry": lanes["retry_depth"],
            "scheduled": states["scheduled"],
            "waiting": states["waiting"],
            "dlq": states["dead"],
        },
        "states": states,
        "retry_ratio": get_retry_share(depth),
        "by_queue": by_queue,
    }


def pause_queue(name: str, *, caller: Caller = SYSTEM) -> Row:
    return put_gate(f"queue:{_require_known(name)}", paused=True, caller=caller)


def resume_queue(name: str, *, caller: Caller = SYSTEM) -> Row:
    return put_gate(f"queue:{_require_known(name)}", paused=False, closed_until=None, caller=caller)


def _require_known(name: str) -> str:
    queues = catalog.list_queues()
    if name not in queues:
        raise InvalidPayload(f"queue: there is no queue {name!r}; known: {', '.join(queues)}", "queue")
    return name
