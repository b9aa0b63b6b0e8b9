"""A task's history: its numbered events, and the kinds of events there are."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from state.database import Row, fetch, retrying

EventKind = Literal[
    "status", "progress", "control", "payload", "log", "token", "tool", "part", "queue", "item", "step",
    "snapshot", "done"
]  # fmt: skip

EVENT_KINDS: dict[EventKind, str] = {
    "status": "The task has moved: `from`, `to`, and where known `reason`, `gate`, `attempt`, `error`.",
    "progress": "The latest progress of the running attempt: `percent`, `message`, `elapsed_ms`.",
    "control": "A stage of a pause or a cancel: `stage` and `request`.",
    "payload": "The payload was edited for a retry: `before`, `after`, and the `checkpoint` that was dropped.",
    "log": "A piece of a sandbox's output: `text`.",
    "token": "A piece of a language model's answer: `text`; of an assistant also the `turn`.",
    "tool": "An assistant's `call` of a tool: `turn`, `name` and its `arguments`, later its `result` and `exit_code`.",
    "part": "The summary of one part of a long text: `round`, `part`, `of`, `summary`.",
    "queue": "The queue of a project has changed: `from`, `to`, `mode`, `run_id`, `reason`, and `seconds` so far.",
    "item": "An item of a project has changed: `item_id`, `title`, `from`, `to`, `run_id`; or `items` were added.",
    "step": "A step of a workflow has moved: `step`, `from`, `to`, and where known `task_ids`, `error`, `decision`.",
    "snapshot": "Only in a stream: the whole task, as it is when the stream begins.",
    "done": "Only in a stream: the whole task, as it ended.",
}
"""The kinds that Callboard itself writes. An actor may emit any other kind as well."""

STREAM_KINDS: frozenset[EventKind] = frozenset({"snapshot", "done"})
"""Sent to clients and never stored."""

RESERVED_KINDS: frozenset[EventKind] = frozenset({
    "status", "progress", "control", "payload", "step", "queue", "item", *STREAM_KINDS
})  # fmt: skip
"""Their meaning is fixed: `Context.emit` refuses them."""

KINDS: tuple[EventKind, ...] = get_args(EventKind)

PAGE = 500


@dataclass(frozen=True, slots=True)
class Event:
    n: int
    kind: str
    data: dict[str, Any]
    at: datetime

    @classmethod
    def from_row(cls, row: Row) -> "Event":
        return cls(n=row["n"], kind=row["kind"], data=row["data"], at=row["at"])


@retrying
def get_events(task_id: str, after: int = 0, limit: int = PAGE) -> list[Event]:
    """n counts up under the task's row lock, so asking for "after n" never misses an event."""
    return [Event.from_row(row) for row in fetch("events", {"id": task_id, "after": after, "limit": limit})]


@retrying
def get_events_of_many(positions: dict[str, int], limit: int = PAGE) -> dict[str, list[Event]]:
    """Reads new events of many tasks in one query: at most `limit` for each, after the position given for it."""
    found: dict[str, list[Event]] = {}
    rows = fetch("events_of_many", {"ids": list(positions), "afters": list(positions.values()), "limit": limit})
    for row in rows:
        found.setdefault(row["id"], []).append(Event.from_row(row))
    return found
