"""The deliveries of a task's events: the log, and replays. A delivery is a task of the actor `webhook`. The trigger
follow_webhook queues it in the transaction of the move that it reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, fetch_one, retrying
from state.database.notifier import notify_tasks, notify_work
from state.errors import InvalidPayload, NoWebhook, TaskNotFound
from state.logs import log_transitions
from state.tasks.reads import DEFAULT_LIMIT
from state.webhooks.subscription import POSSIBLE


@dataclass(frozen=True, slots=True)
class Webhook:
    url: str
    events: list[str]


@dataclass(frozen=True, slots=True)
class Delivery:
    n: int
    type: str
    at: datetime  # of the event
    delivery_id: str
    status: str
    attempt: int
    max_attempts: int
    response_status: int | None
    duration_ms: int | None
    error: dict[str, Any] | None
    created_at: datetime
    finished_at: datetime | None
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class Replayed:
    n: int
    type: str
    delivery_id: str
    status: str
    is_new: bool  # False: the delivery that there is goes on


@retrying
def get_webhook(task_id: str, *, caller: Caller = SYSTEM) -> Webhook:
    """Raises NoWebhook if the task was submitted without one."""
    row = fetch_one("webhook", {"id": task_id, "scope": caller.tenant})
    if row is None:
        raise TaskNotFound(task_id)
    if row["webhook_url"] is None:
        raise NoWebhook(task_id)
    return Webhook(row["webhook_url"], row["webhook_events"])


@retrying
def list_deliveries(
    task_id: str, *, after: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM
) -> list[Delivery]:
    """Oldest first. `after`: the last delivery of the previous page."""
    get_webhook(task_id, caller=caller)
    rows = fetch("webhook_deliveries", {"id": task_id, "after": after or "", "limit": limit, "scope": caller.tenant})
    return [Delivery(**row) for row in rows]


def replay(
    task_id: str, *, after: int = 0, events: Sequence[int] | None = None, caller: Caller = SYSTEM
) -> list[Replayed]:
    """Sends events again: the ones with these numbers, or all that the webhook has chosen with a number above `after`.
    A delivery that is dead, or waits for its next attempt, is sent now; one that is under way is left as it is."""
    get_webhook(task_id, caller=caller)
    rows = _replay(task_id, after, events, caller.name)
    wrong = ", ".join(str(row["n"]) for row in rows if row["id"] is None)
    if wrong:
        raise InvalidPayload(f"events: no moves that can be reported: {wrong}", "events")
    moved = [row for row in rows if row["status"] != row["before"]]
    log_transitions([row for row in moved if row["before"] is not None])
    log_transitions([row for row in moved if row["before"] is None], **{"from": None})
    notify_tasks(row["id"] for row in moved)
    notify_work({row["queue"] for row in moved if row["status"] == "queued"})
    return [Replayed(row["n"], row["type"], row["id"], row["status"], row["before"] is None) for row in rows]


@retrying
def _replay(task_id: str, after: int, events: Sequence[int] | None, by: str | None) -> list[Row]:
    """A repetition after a lost connection finds that everything is under way."""
    asked = None if events is None else list(events)
    return fetch("webhook_replay", {"id": task_id, "after": after, "events": asked, "possible": POSSIBLE, "by": by})
