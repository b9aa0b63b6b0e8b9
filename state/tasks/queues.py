"""Queues as a whole: how much stands where, and pausing them."""

from typing import Any

from state.database.connection import Row
from state.database.pool import fetch, fetch_one, retrying
from state.errors import InvalidPayload
from state.gates.operations import put_gate
from state.settings import get_settings
from state.tasks import catalog
from state.workers.leases import retry_depth

RESERVED = ("dlq", "status", "stream")  # routes below /queues


def retry_share(depth: int) -> float:
    """The share of starts that goes to the retry lane: less, the longer it is, so that a storm cannot take over."""
    settings = get_settings()
    if depth > settings.retry_critical:
        return settings.retry_share_critical
    return settings.retry_share_warning if depth >= settings.retry_warning else settings.retry_share


@retrying
def queue_status() -> dict[str, Any]:
    queues = sorted({spec.queue for spec in catalog.actors()})
    states = {row["status"]: row["tasks"] for row in fetch("status_counts", {})}
    by_queue = fetch("queue_counts", {"queues": queues})
    lanes = fetch_one("lane_counts", {}) or {}
    depth = retry_depth(queues, get_settings().retry_critical + 1)
    return {
        "queues": {
            "primary": lanes["primary_depth"],
            "retry": lanes["retry_depth"],
            "scheduled": states.get("scheduled", 0),
            "waiting": states.get("waiting", 0),
            "dlq": states.get("dead", 0),
        },
        "states": states,
        "retry_ratio": retry_share(depth),
        "by_queue": by_queue,
    }


def pause_queue(name: str) -> Row:
    return put_gate(f"queue:{_known(name)}", paused=True)


def resume_queue(name: str) -> Row:
    return put_gate(f"queue:{_known(name)}", paused=False)


def _known(name: str) -> str:
    queues = catalog.queues()
    if name not in queues:
        raise InvalidPayload(f"queue: there is no queue {name!r}; known: {', '.join(queues)}", "queue")
    return name
