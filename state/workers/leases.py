"""The verbs of a worker: claim, report, save, settle. Every write names task, epoch and worker, and changes a row only
while that worker still holds the lease."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import Any, Literal

from state import jsonsafe
from state.database import AnyConnection, Connection, Parameters, Row, fetch, fetch_each, fetch_one, retrying
from state.errors import LeaseLost
from state.gates import Gate
from state.gates.waking import make_wake_calls, read_woken
from state.masking import mask_data
from state.settings import get_settings

Outcome = Literal["completed", "failed", "released"]
Key = tuple[str, int]  # task id and epoch

MOST_REGATES = 3  # times in an hour that a task is put back because its actor names other gates


@dataclass(slots=True)  # not frozen, as there is one for every task: that would take three times as long
class Claimed:
    """A task that this worker may run now."""

    id: str
    epoch: int
    actor: str
    queue: str
    lane: str
    attempt: int
    attempts_before: int  # used before it was revived
    max_attempts: int
    payload: dict[str, Any]
    checkpoint: dict[str, Any]
    tokens: int
    cost: Decimal
    tenant: str | None
    gates: list[str]  # that it has passed


_of_claimed = itemgetter(*(each.name for each in fields(Claimed)))


@dataclass(slots=True)
class ClaimRequest:
    """How many tasks a worker can take. Threads take tasks of one set of queues, coroutines those of another one. In a
    queue that is in both, threads leave the tasks of `async_actors` alone, and coroutines those of `sync_actors`. Up to
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
    sync_actors: Sequence[str] = ()
    async_actors: Sequence[str] = ()


@dataclass(slots=True)
class ClaimAnswer:
    tasks: list[Claimed]
    to_wake: list[str]  # gates that have to wake another task: the one that they woke waits at a different gate now
    contended: bool  # a gate was locked, or the claim took too many rounds: worth another try in a moment
    woken: list[Row]  # id and queue of the tasks that were woken before the claim
    busy: list[str]  # gates that were locked: to be woken again soon


@dataclass(slots=True)
class Report:
    """Progress, usage and events of an execution since its last report. Numbered from 1: a report that is sent twice is
    written once."""

    id: str
    epoch: int
    number: int
    progress: dict[str, Any] | None = None
    tokens: int = 0
    cost: float = 0
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Settlement:
    """How an execution ended. `retry_seconds` None: a failure that is not worth another attempt. `retry_after`: the
    seconds for which the service asked not to be called."""

    id: str
    epoch: int
    outcome: Outcome
    result: Any = None
    error: dict[str, Any] | None = None
    retry_seconds: float | None = None
    retry_after: float | None = None


def as_json(record: Report | Settlement) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}  # asdict would copy whole results


_by_id = attrgetter("id")  # every transaction locks tasks in this order


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
        "sync_actors": list(request.sync_actors),
        "async_actors": list(request.async_actors),
        "retry_share": request.retry_share,
        "lease_seconds": get_settings().lease_seconds,
    }
    woken: list[Row] = []
    busy: list[str] = []
    if wake:
        keys = sorted(set(wake))
        *answers, rows = fetch_each([*make_wake_calls(keys), ("claim", parameters)], connection)
        woken, busy = read_woken(keys, answers)
    else:
        rows = fetch("claim", parameters, connection)
    if not rows:
        return ClaimAnswer([], [], contended=False, woken=woken, busy=busy)
    tasks = [Claimed(*_of_claimed(row)) for row in rows if row["id"] is not None]
    return ClaimAnswer(tasks, rows[0]["to_wake"], rows[0]["contended"], woken, busy)


def get_wait_after_failover(connection: Connection) -> float:
    """Returns for how many seconds nothing may be claimed on this new connection: the server may have taken over from
    another one without its last claims, whose executions still run."""
    [row] = fetch("wait_after_failover", {"lease_seconds": get_settings().lease_seconds}, connection)
    return float(row["seconds"])


def report(connection: AnyConnection, worker: str, reports: Iterable[Report]) -> set[Key]:
    """Writes reports. Returns the (id, epoch) of those whose lease the worker still holds. Waits for locked tasks."""
    return _report(connection, worker, reports, wait=True)[0]


def try_report(connection: AnyConnection | None, worker: str, reports: Iterable[Report]) -> tuple[set[Key], set[Key]]:
    """As `report`, without waiting. Returns also those that are locked: nothing was written for them."""
    return _report(connection, worker, reports, wait=False)


def _report(
    connection: AnyConnection | None, worker: str, reports: Iterable[Report], *, wait: bool
) -> tuple[set[Key], set[Key]]:
    body = jsonsafe.dump([mask_data(as_json(each)) for each in sorted(reports, key=_by_id)])
    rows = fetch("report", {"worker": worker, "reports": body, "wait": wait}, connection)
    written = {(row["id"], row["epoch"]) for row in rows if not row["busy"]}
    return written, {(row["id"], row["epoch"]) for row in rows} - written


def settle(connection: AnyConnection, worker: str, settlements: Iterable[Settlement]) -> list[Row]:
    """Ends executions. Returns a row for each whose lease the worker still held, with the new status of its task. Waits
    for locked tasks."""
    return _settle(connection, worker, settlements, wait=True)[0]


def try_settle(
    connection: AnyConnection | None, worker: str, settlements: Iterable[Settlement]
) -> tuple[list[Row], set[Key]]:
    """As `settle`, without waiting. Returns also the (id, epoch) of those that are locked, to be tried again."""
    return _settle(connection, worker, settlements, wait=False)


def _settle(
    connection: AnyConnection | None, worker: str, settlements: Iterable[Settlement], *, wait: bool
) -> tuple[list[Row], set[Key]]:
    body = jsonsafe.dump([as_json(each) for each in sorted(settlements, key=_by_id)])
    rows = fetch("settle", {"worker": worker, "outcomes": body, "wait": wait}, connection)
    settled = [row for row in rows if not row["busy"]]
    if len(settled) == len(rows):
        return settled, set()
    return settled, {(row["id"], row["epoch"]) for row in rows if row["busy"]}


def close_gates(connection: AnyConnection, closures: Mapping[str, float]) -> set[str]:
    """Closes the gates of the services that these tasks use, for the seconds that each service asked for: the other
    tasks wait at their gates and use no attempt. Returns the tasks whose gate was locked, to be tried again."""
    rows = fetch("gates_close", {"tasks": list(closures), "seconds": list(closures.values())}, connection)
    return {row["id"] for row in rows}


def find_settled(connection: AnyConnection | None, worker: str, settlements: Iterable[Settlement]) -> set[Key]:
    """Returns which of these executions have been settled. A connection that is lost after the commit looks like a lost
    lease to the next try."""
    body = jsonsafe.dump([{"id": each.id, "epoch": each.epoch} for each in settlements])
    rows = fetch("settled", {"executions": body, "worker": worker}, connection)
    return {(row["id"], row["epoch"]) for row in rows}


@retrying
def was_settled(worker: str, settlement: Settlement) -> bool:
    """As `find_settled`, for a single execution and on a connection of the pool."""
    return bool(find_settled(None, worker, [settlement]))


@retrying
def save(
    worker: str, task_id: str, epoch: int, values: dict[str, Any], *, conn: AnyConnection | None = None
) -> dict[str, Any]:
    """Adds values to the checkpoint, and returns all of it. Durable when it returns. Saving the same values twice has
    the same effect as saving them once."""
    owner: Parameters = {"worker": worker, "id": task_id, "epoch": epoch}
    row = fetch_one("save", {**owner, "values": jsonsafe.dump(values)}, conn)
    if row is None:
        raise LeaseLost(task_id, epoch)
    checkpoint: dict[str, Any] = row["checkpoint"]
    return checkpoint


@retrying
def require_owned(worker: str, task_id: str, epoch: int) -> None:
    """Raises LeaseLost unless the worker holds the lease."""
    if fetch_one("owned", {"worker": worker, "id": task_id, "epoch": epoch}) is None:
        raise LeaseLost(task_id, epoch)


@retrying
def regate(worker: str, task_id: str, epoch: int, gates: Sequence[Gate]) -> Row:
    """Puts a task whose code has not started back into the queue, with the gates that its actor names now and without
    burning the attempt. Returns a row in which `moved` says whether that was done (see state/sql/regate.sql); raises
    LeaseLost if the worker does not hold the lease, also because an earlier try has put the task back."""
    keys, limits = [gate.key for gate in gates], [gate.limit for gate in gates]
    owner: Parameters = {"worker": worker, "id": task_id, "epoch": epoch}
    row = fetch_one("regate", {**owner, "gates": keys, "limits": limits, "most": MOST_REGATES})
    if row is None:
        raise LeaseLost(task_id, epoch)
    return row


def get_retry_depth(queues: Sequence[str], limit: int) -> int:
    """Returns the number of queued tasks in the retry lane, counted up to the limit."""
    [row] = fetch("retry_depth", {"queues": list(queues), "limit": limit})
    return int(row["depth"])
