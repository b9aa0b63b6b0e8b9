"""The worker's verbs: claim, report, save, settle. Every write carries id, epoch and worker: it changes a row only
while the writer still owns the task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal

import psycopg
from psycopg.types.json import Jsonb

from state import jsonsafe
from state.database.connection import Connection, Parameters, Row
from state.database.pool import fetch_often, fetch_one, get_database, retrying
from state.database.statements import statement
from state.errors import LeaseLost
from state.gates.waking import read_woken, wake_calls
from state.masking import mask_data
from state.settings import get_settings

Outcome = Literal["completed", "failed", "released"]
Key = tuple[str, int]  # task id and epoch


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
    """Threads take the tasks of one set of queues, coroutines those of another: queues of async actors only. Up to
    `ahead` more tasks of the short actors come from the threads' queues. `known_actors` None: all."""

    worker: str
    claim_number: int
    thread_queues: Sequence[str]
    coroutine_queues: Sequence[str]
    threads: int
    coroutines: int
    ahead: int
    short_actors: Sequence[str]
    known_actors: Sequence[str] | None
    retry_share: float


@dataclass(slots=True)
class ClaimAnswer:
    tasks: list[Claimed]
    to_wake: list[str]  # gates whose turn was taken by a task that stopped elsewhere
    contended: bool  # others were at a gate, or it took too many turns: worth another try in a moment
    woken: list[Row]  # id and queue of what the gates that were to be woken let go
    busy: list[str]  # those of them that somebody held at this moment: to be woken again soon


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


def as_json(record: Report | Settlement) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}  # asdict would copy whole results


_by_id = attrgetter("id")  # all lock tasks in this order


def claim(connection: Connection, request: ClaimRequest, wake: Sequence[str] = ()) -> ClaimAnswer:
    """Wakes gates, each in a transaction of its own, and then claims; in one round trip."""
    parameters: Parameters = {
        "worker": request.worker,
        "claim_number": request.claim_number,
        "thread_queues": list(request.thread_queues),
        "coroutine_queues": list(request.coroutine_queues),
        "threads": request.threads,
        "coroutines": request.coroutines,
        "ahead": request.ahead,
        "short_actors": list(request.short_actors),
        "known_actors": None if request.known_actors is None else list(request.known_actors),
        "retry_share": request.retry_share,
        "lease_seconds": get_settings().lease_seconds,
    }
    woken: list[Row] = []
    busy: list[str] = []
    if wake:
        keys = sorted(set(wake))
        *answers, rows = connection.pipeline([*wake_calls(keys), ("claim", parameters)])
        woken, busy = read_woken(keys, answers)
    else:
        rows = connection.fetch("claim", parameters)
    if not rows:
        return ClaimAnswer([], [], contended=False, woken=woken, busy=busy)
    tasks = [Claimed(**{name: row[name] for name in Claimed.__slots__}) for row in rows if row["id"] is not None]
    return ClaimAnswer(tasks, rows[0]["to_wake"], rows[0]["contended"], woken, busy)


def report(connection: Connection, worker: str, reports: Iterable[Report]) -> set[Key]:
    """Returns the (id, epoch) that were still ours. Waits for tasks that somebody else has locked."""
    return _report(connection, worker, reports, wait=True)[0]


def try_report(connection: Connection, worker: str, reports: Iterable[Report]) -> tuple[set[Key], set[Key]]:
    """Returns those that were still ours, and those that somebody else has locked: nothing was written for these."""
    return _report(connection, worker, reports, wait=False)


def _report(connection: Connection, worker: str, reports: Iterable[Report], *, wait: bool) -> tuple[set[Key], set[Key]]:
    body = jsonsafe.dump([mask_data(as_json(each)) for each in sorted(reports, key=_by_id)])
    rows = connection.fetch("report", {"worker": worker, "reports": body, "wait": wait})
    owned = {(row["id"], row["epoch"]) for row in rows if not row["busy"]}
    return owned, {(row["id"], row["epoch"]) for row in rows} - owned


def settle(connection: Connection, worker: str, settlements: Iterable[Settlement]) -> list[Row]:
    """Returns a row for each that was still ours, with the status that it moved to. Waits for tasks that somebody else
    has locked."""
    return _settle(connection, worker, settlements, wait=True)[0]


def try_settle(connection: Connection, worker: str, settlements: Iterable[Settlement]) -> tuple[list[Row], set[Key]]:
    """Returns the rows, and those that somebody else has locked: to be tried again."""
    return _settle(connection, worker, settlements, wait=False)


def _settle(
    connection: Connection, worker: str, settlements: Iterable[Settlement], *, wait: bool
) -> tuple[list[Row], set[Key]]:
    body = jsonsafe.dump([as_json(each) for each in sorted(settlements, key=_by_id)])
    rows = connection.fetch("settle", {"worker": worker, "outcomes": body, "wait": wait})
    settled = [row for row in rows if not row["busy"]]
    if len(settled) == len(rows):
        return settled, set()
    return settled, {(row["id"], row["epoch"]) for row in rows if row["busy"]}


def close_gates(connection: Connection, closures: Mapping[str, float]) -> set[str]:
    """The services that these tasks use asked for a pause of so many seconds. They ask everybody: the others wait at
    their gates, and burn no attempt. Answers the tasks whose gate somebody held at this moment: to be tried again."""
    parameters = {"tasks": list(closures), "seconds": list(closures.values())}
    rows = connection.execute(statement("gates_close"), parameters).fetchall()
    return {row["id"] for row in rows}


def settled_before(connection: Connection, worker: str, settlements: Iterable[Settlement]) -> set[tuple[str, int]]:
    """A connection lost after the commit looks like a lost lease: which of these had been written all the same?"""
    body = jsonsafe.dump([{"id": each.id, "epoch": each.epoch} for each in settlements])
    rows = connection.execute(statement("settled"), {"executions": body, "worker": worker})
    return {(row["id"], row["epoch"]) for row in rows}


@retrying
def save(
    worker: str, task_id: str, epoch: int, values: dict[str, Any], *, conn: psycopg.Connection[Any] | None = None
) -> Row:
    """Adds to the checkpoint; durable when it returns. Saving the same again is the same as saving once."""
    owner = {"worker": worker, "id": task_id, "epoch": epoch}
    row = fetch_one("save", {**owner, "values": Jsonb(values, dumps=jsonsafe.dump)}, conn)
    if row is None:
        raise LeaseLost(task_id, epoch)
    checkpoint: Row = row["checkpoint"]
    return checkpoint


@retrying
def require_owned(worker: str, task_id: str, epoch: int) -> None:
    """For code that is about to do something on the strength of its lease."""
    if fetch_one("owned", {"worker": worker, "id": task_id, "epoch": epoch}) is None:
        raise LeaseLost(task_id, epoch)


@retrying
def was_settled(worker: str, settlement: Settlement) -> bool:
    """The same as settled_before, for a single one and on a connection of the pool."""
    with get_database().pool().connection() as pooled:
        return bool(settled_before(pooled, worker, [settlement]))


def retry_depth(queues: Sequence[str], limit: int) -> int:
    rows = fetch_often("retry_depth", {"queues": list(queues), "limit": limit})
    return int(rows[0]["depth"])
