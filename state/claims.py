"""The worker's verbs: claim, report, save, settle, pulse. Every write carries id and epoch: it changes a row only
while the writer still owns the task."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal

import psycopg
from psycopg.types.json import Jsonb

from state import jsonsafe
from state.connection import Connection, Parameters, Row
from state.database import fetch_often, fetch_one, get_database, retrying
from state.errors import LeaseLost
from state.masking import mask_data
from state.settings import get_settings
from state.statements import statement

Outcome = Literal["completed", "failed", "released"]


@dataclass(slots=True)  # what is made for every task is not frozen: that takes three times as long
class Claimed:
    """A task that this worker may run now."""

    id: str
    epoch: int
    actor: str
    queue: str
    lane: str
    attempt: int
    attempts_before: int  # used up when it was revived
    max_attempts: int
    payload: dict[str, Any]
    checkpoint: dict[str, Any]
    tokens: int
    cost: Decimal
    tenant: str | None


@dataclass(slots=True)
class ClaimRequest:
    worker: str
    claim_number: int
    queues: Sequence[str]
    free: int
    ahead: int
    short_actors: Sequence[str]
    retry_share: float
    freed_gates: Sequence[str] = ()


@dataclass(slots=True)
class ClaimAnswer:
    tasks: list[Claimed]
    to_wake: list[str]  # gates whose turn was taken by a task that stopped elsewhere
    contended: bool  # others were at a gate, or it took too many turns: worth another try in a moment


@dataclass(slots=True)
class Report:
    """What an execution has to say since its last report. Numbered from 1: sent again, it is written once."""

    id: str
    epoch: int
    number: int
    progress: dict[str, Any] | None = None
    tokens: int = 0
    cost: float = 0
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Settlement:
    """How an execution ended. `retry_seconds` None: a failure that is not worth another attempt. `retry_after`: how
    long the service asked everybody to stay away."""

    id: str
    epoch: int
    outcome: Outcome
    result: Any = None
    error: dict[str, Any] | None = None
    retry_seconds: float | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class HeldLease:
    id: str
    epoch: int
    claim_number: int
    cancel_requested: str | None


def _fields(record: Report | Settlement) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}  # asdict would copy whole results


_by_id = attrgetter("id")  # all lock tasks in this order


def claim(connection: Connection, request: ClaimRequest) -> ClaimAnswer:
    parameters: Parameters = {
        "worker": request.worker,
        "claim_number": request.claim_number,
        "queues": list(request.queues),
        "free": request.free,
        "ahead": request.ahead,
        "short_actors": list(request.short_actors),
        "retry_share": request.retry_share,
        "lease_seconds": get_settings().lease_seconds,
        "freed_gates": list(request.freed_gates),
    }
    rows = connection.fetch("claim", parameters)
    if not rows:
        return ClaimAnswer([], [], contended=False)
    tasks = [Claimed(**{name: row[name] for name in Claimed.__slots__}) for row in rows if row["id"] is not None]
    return ClaimAnswer(tasks, rows[0]["to_wake"], rows[0]["contended"])


def report(connection: Connection, reports: Iterable[Report]) -> set[tuple[str, int]]:
    """Answers the (id, epoch) that were still ours."""
    body = jsonsafe.dump([mask_data(_fields(each)) for each in sorted(reports, key=_by_id)])
    return {(row["id"], row["epoch"]) for row in connection.fetch("report", {"reports": body})}


def settle(connection: Connection, settlements: Iterable[Settlement]) -> list[Row]:
    """Answers a row for each that was still ours, with the status that it moved to."""
    body = jsonsafe.dump([_fields(each) for each in sorted(settlements, key=_by_id)])
    return connection.fetch("settle", {"outcomes": body})


def settled_before(connection: Connection, worker: str, settlements: Iterable[Settlement]) -> set[tuple[str, int]]:
    """A connection lost after the commit looks like a lost lease: which of these had been written all the same?"""
    body = jsonsafe.dump([{"id": each.id, "epoch": each.epoch} for each in settlements])
    rows = connection.execute(statement("settled"), {"executions": body, "worker": worker})
    return {(row["id"], row["epoch"]) for row in rows}


@retrying
def save(task_id: str, epoch: int, values: dict[str, Any], *, conn: psycopg.Connection[Any] | None = None) -> Row:
    """Adds to the checkpoint; durable when it returns. Saving the same again is the same as saving once."""
    row = fetch_one("save", {"id": task_id, "epoch": epoch, "values": Jsonb(values, dumps=jsonsafe.dump)}, conn)
    if row is None:
        raise LeaseLost(task_id, epoch)
    checkpoint: Row = row["checkpoint"]
    return checkpoint


@retrying
def require_owned(task_id: str, epoch: int) -> None:
    """For code that is about to do something on the strength of its lease."""
    if fetch_one("owned", {"id": task_id, "epoch": epoch}) is None:
        raise LeaseLost(task_id, epoch)


@retrying
def was_settled(worker: str, settlement: Settlement) -> bool:
    """The same as settled_before, for a single one and on a connection of the pool."""
    with get_database().pool().connection() as pooled:
        return bool(settled_before(pooled, worker, [settlement]))


def pulse(connection: Connection, worker: str) -> list[HeldLease]:
    """Renews the worker's leases and lists them, with what has been asked of their tasks."""
    parameters: Parameters = {"worker": worker, "lease_seconds": get_settings().lease_seconds}
    return [HeldLease(**row) for row in connection.fetch("pulse", parameters)]


def retry_depth(queues: Sequence[str], limit: int) -> int:
    rows = fetch_often("retry_depth", {"queues": list(queues), "limit": limit})
    return int(rows[0]["depth"])
