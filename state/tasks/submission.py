"""Submit: a task is accepted when this commits, and from then on it ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

import psycopg
from pydantic_core import to_json

from state.database.connection import Row
from state.database.notifier import notify_work, work_notification
from state.database.pool import connection, fetch, pooled, retrying
from state.errors import InvalidPayload
from state.gates import Gate
from state.gates.declarations import target_gate, tenant_gate
from state.logs import log_transitions
from state.tasks import catalog
from state.tasks.catalog import ActorSpec
from state.tasks.ids import new_task_id
from state.tasks.reads import Task, get_task

CHUNK = 1000
_FROM_NOTHING = {"from": None}
_FAR = 10 * 365 * 24 * 3600.0  # seconds; beyond this a delay is a mistake


@dataclass(slots=True)
class NewTask:
    """What somebody asks for. What is left out, the actor's declaration says."""

    actor: str
    payload: Any
    queue: str | None = None
    priority: int = 2
    max_attempts: int | None = None
    delay_seconds: float | None = None
    available_at: datetime | None = None
    max_age_seconds: float | None = None
    tenant: str | None = None
    target: str | None = None
    dedup_key: str | None = None
    dedup_ttl_seconds: float = 24 * 3600.0

    def row(self) -> Row:
        """The row to insert; raises UnknownActor or InvalidPayload, and then nothing was written."""
        spec = catalog.get(self.actor)
        self._check()
        payload = spec.validate(self.payload)
        run = payload.get("workflow_run_id")
        if run is not None and not (isinstance(run, str) and len(run) <= 200):  # there is an index on it
            raise _refused("payload.workflow_run_id", "must be at most 200 characters")
        gates = self._gates(spec, payload)
        return {
            "id": new_task_id(),
            "actor": spec.name,
            "queue": self.queue or spec.queue,
            "priority": self.priority,
            "tenant": self.tenant,
            "target": self.target,
            "payload": payload,
            "max_attempts": self.max_attempts or spec.max_attempts,
            "delay_seconds": self.delay_seconds,
            "available_at": self.available_at.isoformat() if self.available_at else None,
            "max_age_seconds": self.max_age_seconds if self.max_age_seconds is not None else spec.max_age(),
            "gates": [gate.key for gate in gates],
            "gate_limits": [gate.limit for gate in gates],
            "dedup_key": self.dedup_key,
            "dedup_ttl_seconds": self.dedup_ttl_seconds,
        }

    def _gates(self, spec: ActorSpec, payload: dict[str, Any]) -> list[Gate]:
        gates = spec.gates_of(payload)
        if self.tenant is not None:
            gates.append(tenant_gate(self.tenant))
        if self.target is not None:
            gates.append(target_gate(self.tenant, self.target))
        gates.sort(key=attrgetter("key"))
        return gates

    def _check(self) -> None:
        if not 0 <= self.priority <= 3:
            raise _refused("priority", "must be 0 (first) to 3")
        if self.max_attempts is not None and not 1 <= self.max_attempts <= 1000:
            raise _refused("max_attempts", "must be 1 to 1000")
        if self.queue is not None and self.queue not in catalog.queues():
            raise _refused("queue", f"no worker takes it; known: {', '.join(catalog.queues())}")
        if self.available_at is not None and self.available_at.tzinfo is None:
            raise _refused("available_at", "needs a time zone")
        if self.available_at is not None and self.delay_seconds is not None:
            raise _refused("available_at", "give it or delay_seconds")
        self._check_each()

    def _check_each(self) -> None:
        for field in ("delay_seconds", "max_age_seconds", "dedup_ttl_seconds"):
            seconds = getattr(self, field)
            if seconds is not None and not 0 <= seconds <= _FAR:
                raise _refused(field, f"must be 0 to {_FAR:g} seconds")
        for field in ("tenant", "target", "dedup_key"):
            name = getattr(self, field)
            if name is not None and not (0 < len(name) <= 200 and name.isprintable()):
                raise _refused(field, "must be 1 to 200 characters")


def _refused(field: str, message: str) -> InvalidPayload:
    return InvalidPayload(f"{field}: {message}", field)


def submit(actor: str, payload: Any, *, conn: psycopg.Connection[Any] | None = None, **options: Any) -> Task:
    """Accepts one task. With `conn`, inside the caller's own transaction: it exists if that commits."""
    return submit_new(NewTask(actor, payload, **options), conn=conn)


def submit_new(new: NewTask, *, conn: psycopg.Connection[Any] | None = None) -> Task:
    row = new.row()
    return _insert_one(row, conn=conn) if new.dedup_key is None else _insert_keyed(row, conn=conn)


@retrying
def _insert_one(row: Row, *, conn: psycopg.Connection[Any] | None) -> Task:
    gates = {"gates": row["gates"] or None, "gate_limits": row["gate_limits"] or None}
    asked = {**row, **gates, "payload": to_json(row["payload"]).decode()}
    try:
        [answer] = _insert("submit_one", asked, {row["queue"]}, conn)
    except psycopg.errors.UniqueViolation:  # only we know this id: a connection was lost after the commit
        if conn is not None:
            raise
        notify_work([row["queue"]])  # its hint may be lost as well
        answer = {"created_at": None}
    born = answer["created_at"]
    task = get_task(row["id"], conn=conn) if born is None else Task.born(row, born)
    if task.epoch == 0:  # otherwise that took so long that it is past its birth
        log_transitions([{"id": task.task_id, "actor": task.actor, "epoch": 0, "status": task.status}], **_FROM_NOTHING)
    return task


@retrying
def _insert_keyed(row: Row, *, conn: psycopg.Connection[Any] | None = None) -> Task:
    """The key and its task commit together. Returns the holder if the key is taken, and the task itself if an earlier
    try has been committed and only its answer was lost."""
    if conn is None:
        with connection() as own, own.transaction():
            task = _insert_keyed(row, conn=own)
        notify_work([row["queue"]])
        return task
    [taken] = _take_keys([row], conn)
    if taken["holder"] == row["id"] and not taken["known"]:
        return _insert_one(row, conn=conn)
    task = get_task(taken["holder"], conn=conn)
    task.deduplicated = task.task_id != row["id"]
    return task


def submit_many(tasks: Iterable[NewTask], *, conn: psycopg.Connection[Any] | None = None) -> list[str]:
    """Accepts many tasks, or none: they commit together. Answers their ids in order; with a dedup key that is held,
    the id of its holder. With `conn`, inside the caller's own transaction, and the caller is the one to repeat it."""
    rows = [task.row() for task in tasks]
    if conn is not None:
        ids, inserted = _insert_all(rows, conn)
        log_transitions(inserted, **_FROM_NOTHING)
        return ids
    if len(rows) > CHUNK or any(row["dedup_key"] is not None for row in rows):
        return _insert_together(rows)
    if rows:
        log_transitions(_insert_many(rows, conn=None), **_FROM_NOTHING)
    return [row["id"] for row in rows]


def _insert_together(rows: Sequence[Row]) -> list[str]:
    """All in one transaction, repeated as a whole. The ids were made before the first try: if that one's COMMIT has
    succeeded and only its answer was lost, they are found, and the answer is the one that it would have given."""
    ids: list[str] = []
    inserted: list[Row] = []

    @retrying
    def attempt() -> None:
        nonlocal ids, inserted
        if ids and fetch("any_task", {"ids": [row["id"] for row in rows]}):
            return
        with connection() as own, own.transaction():
            ids, inserted = _insert_all(rows, own)

    attempt()
    log_transitions(inserted, **_FROM_NOTHING)
    notify_work({row["queue"] for row in rows})
    return ids


def _insert_all(rows: Sequence[Row], conn: psycopg.Connection[Any]) -> tuple[list[str], list[Row]]:
    """The ids to answer, in order, and what was inserted. Of several with one key, the first gets it."""
    firsts: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["dedup_key"] is not None:
            firsts.setdefault(_key_of(row), row)
    taken = {each["id"]: each for each in _take_keys(list(firsts.values()), conn)}
    holders = {key: taken[first["id"]]["holder"] for key, first in firsts.items()}
    ids = [str(holders.get(_key_of(row), row["id"])) for row in rows]
    new = [row for row, answered in zip(rows, ids, strict=True) if answered == row["id"]]
    return ids, [row for chunk in _chunks(new) for row in _insert_many(chunk, conn=conn)]


def _key_of(row: Row) -> tuple[Any, ...]:
    return row["tenant"], row["actor"], row["dedup_key"]


def _take_keys(rows: Sequence[Row], conn: psycopg.Connection[Any]) -> list[Row]:
    """In the order of the keys, whatever the order of the rows: two callers with the same keys never deadlock."""
    if not rows:
        return []
    fields = ("id", "tenant", "actor", "dedup_key", "dedup_ttl_seconds")
    asked = to_json([{name: row[name] for name in fields} for row in rows]).decode()
    return fetch("dedup_take", {"asked": asked}, conn)


def _chunks(rows: Sequence[Row]) -> list[Sequence[Row]]:
    return [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]


@retrying
def _insert_many(rows: Sequence[Row], *, conn: psycopg.Connection[Any] | None) -> list[Row]:
    _count_before(rows)
    asked = {"tasks": to_json([{name: v for name, v in row.items() if v is not None} for row in rows]).decode()}
    return _insert("submit", asked, {row["queue"] for row in rows}, conn)


def _insert(statement: str, asked: Row, queues: set[str], conn: psycopg.Connection[Any] | None) -> list[Row]:
    if conn is not None:  # who commits must ring
        return fetch(statement, asked, conn)
    wake_up = work_notification(queues)
    with pooled() as own:
        inserted = own.fetch(statement, asked, then=("notify", wake_up) if wake_up else None)
    if wake_up is None:
        notify_work(queues)
    return inserted


def _count_before(rows: Sequence[Row]) -> None:
    """How many of the same kind stand before each in this batch: what its place is reckoned from."""
    peers: dict[tuple[Any, ...], int] = {}
    crowds: dict[str, int] = {}
    for row in rows:
        kind = (row["queue"], row["priority"], row["tenant"])
        row["follower"] = before = peers.get(kind, 0)
        peers[kind] = before + 1
        if row["gates"]:
            gate = row["gates"][0]
            row["crowd"] = crowd = crowds.get(gate, 0)
            crowds[gate] = crowd + 1
