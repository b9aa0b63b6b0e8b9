"""A task's history: its numbered events, and the kinds of events there are."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args

from state.access.caller import SYSTEM, Caller
from state.access.tracebacks import hide_traceback_in
from state.database import Row, fetch, retrying

EventKind = Literal[
    "status", "progress", "control", "payload", "log", "token", "tool", "part", "queue", "item", "step",
    "snapshot", "done"
]  # fmt: skip

EVENT_KINDS: dict[EventKind, str] = {
    "status": "It has moved: `from`, `to`, and where known `reason`, `gate`, `attempt`, `error`, `message`, `by`.",
    "progress": "The latest progress of the running attempt: `percent`, `message`, `elapsed_ms`.",
    "control": "A stage of a pause or a cancel: `stage`, `request`, and where known `by`: who has asked.",
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

    def without_tracebacks(self) -> "Event":
        """Returns the same object if it has none."""
        data = hide_traceback_in(self.data)
        return self if data is self.data else replace(self, data=data)


@retrying
def get_events(
    task_id: str, after: int = 0, limit: int = PAGE, *, kind: str | None = None, caller: Caller = SYSTEM
) -> list[Event]:
    """Of a task, a workflow or a project. n counts up under the row's lock, so asking for "after n" never misses an
    event."""
    return _read("events", caller, id=task_id, after=after, limit=limit, kind=kind)


@retrying
def get_newest_events(
    task_id: str,
    before: int | None = None,
    limit: int = PAGE,
    *,
    after: int = 0,
    kind: str | None = None,
    caller: Caller = SYSTEM,
) -> list[Event]:
    """Like get_events, the newest first. `before`: the last n of the previous page."""
    return _read("events_newest", caller, id=task_id, before=before, after=after, limit=limit, kind=kind)


def _read(statement: str, caller: Caller, **parameters: Any) -> list[Event]:
    events = [Event.from_row(row) for row in fetch(statement, {**parameters, "scope": caller.tenant})]
    return events if caller.has_role("operator") else [event.without_tracebacks() for event in events]


@retrying
def get_events_of_many(positions: dict[str, int], limit: int = PAGE) -> dict[str, list[Event]]:
    """Reads new events of many tasks in one query: at most `limit` for each, after the position given for it. For
    streams, which share it: each of them has read its task as its caller before."""
    found: dict[str, list[Event]] = {}
    rows = fetch("events_of_many", {"ids": list(positions), "afters": list(positions.values()), "limit": limit})
    for row in rows:
        found.setdefault(row["id"], []).append(Event.from_row(row))
    return found
