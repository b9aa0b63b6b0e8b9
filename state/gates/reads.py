"""Gates as operators see them: their settings and use, who holds them, who waits, and what has changed."""

from datetime import datetime
from typing import NamedTuple

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch, fetch_one, retrying
from state.errors import GateNotFound

MOST_SAMPLES = 400  # of one gate in an hour: one every ten seconds


class LinePlace(NamedTuple):
    """The place of a waiting task in the line of a gate."""

    position: int
    priority: int
    rank: int
    task_id: str


_FRONT = LinePlace(0, -1, 0, "")


@retrying
def list_gates(
    *,
    q: str = "",
    busy: bool | None = None,
    trend: bool = False,
    after: str = "",
    limit: int = 100,
    caller: Caller = SYSTEM,
) -> list[Row]:
    """In the order of their keys. `q`: a part of the key. `busy`: only gates that are in use, have a line or are
    closed, or only the others. `trend`: with the use in each minute of the last hour."""
    require_no_tenant(caller)
    return fetch("gates", {"key": None, "q": q, "busy": busy, "trend": trend, "after": after, "limit": limit})


def get_gate(key: str, *, caller: Caller = SYSTEM) -> Row:
    """Returns a gate that has settings or is in use."""
    require_no_tenant(caller)
    row = find_gate(key)
    if row is None:
        raise GateNotFound(key)
    return row


@retrying
def find_gate(key: str) -> Row | None:
    return fetch_one("gates", {"key": key, "q": "", "busy": None, "trend": False, "after": "", "limit": 1})


@retrying
def list_samples(gate: str, *, since: datetime | None = None, caller: Caller = SYSTEM) -> list[Row]:
    """The samples of the last hour, oldest first; those after a moment."""
    require_no_tenant(caller)
    return fetch("gate_samples", {"gate": gate, "since": since, "limit": MOST_SAMPLES})


@retrying
def list_holders(gate: str, *, after: str = "", limit: int = 100, caller: Caller = SYSTEM) -> list[Row]:
    """The running tasks that have a place at the gate, by their ids."""
    require_no_tenant(caller)
    return fetch("gate_holders", {"gate": gate, "after": after, "limit": limit})


@retrying
def list_waiters(gate: str, *, after: LinePlace | None = None, limit: int = 100, caller: Caller = SYSTEM) -> list[Row]:
    """The tasks in the line of the gate, from its front. Positions go on from the last task of the page before."""
    require_no_tenant(caller)
    place, priority, rank, task_id = after or _FRONT
    return fetch(
        "gate_waiters",
        {"gate": gate, "place": place, "priority": priority, "rank": rank, "after": task_id, "limit": limit},
    )


@retrying
def list_changes(
    gate: str | None = None, *, before: int | None = None, limit: int = 100, caller: Caller = SYSTEM
) -> list[Row]:
    """What operators, code and breakers have changed, newest first; of all gates without a key."""
    require_no_tenant(caller)
    return fetch("gate_changes", {"gate": gate, "before": before, "limit": limit})
