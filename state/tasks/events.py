"""The numbered lines of a task's history."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state.database.connection import Row
from state.database.pool import fetch, retrying

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
    """n counts up under the task's row lock, so asking for "after n" never misses one."""
    return [Event.from_row(row) for row in fetch("events", {"id": task_id, "after": after, "limit": limit})]


@retrying
def get_events_of_many(positions: dict[str, int], limit: int = PAGE) -> dict[str, list[Event]]:
    """New lines of many tasks in one query: at most `limit` for each, after the position given for it."""
    found: dict[str, list[Event]] = {}
    rows = fetch("events_of_many", {"ids": list(positions), "afters": list(positions.values()), "limit": limit})
    for row in rows:
        found.setdefault(row["id"], []).append(Event.from_row(row))
    return found
