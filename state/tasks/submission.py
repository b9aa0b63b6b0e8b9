"""Submitting tasks. A task is accepted when its transaction commits, and from then on it ends.

`submit` and `submit_many` accept one task and many. Both end in a statement of the same name in state/sql. Tasks with a
dedup key first take their keys, and tasks that join a workflow lock it, in the same transaction."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic_core import to_json

from state.access.caller import SYSTEM, Caller
from state.agents.guard import require_may_create
from state.database import AnyConnection, Row, fetch, retrying, transaction
from state.database.errors import AlreadyExists
from state.database.notifier import notify_work, take_work_hint
from state.logs import log_transitions
from state.tasks.new_task import NewTask
from state.tasks.reads import Task, get_task
from state.workflows.joining import lock_joined

CHUNK = 1000  # tasks in one statement
_FROM_NOTHING = {"from": None}
_KEY_FIELDS = ("id", "tenant", "actor", "dedup_key", "dedup_ttl_seconds")


def submit(
    actor: str, payload: Any, *, conn: AnyConnection | None = None, caller: Caller = SYSTEM, **options: Any
) -> Task:
    """Accepts one task. With `conn`, in the caller's own transaction: the task exists if that commits."""
    return submit_new(NewTask(actor, payload, **options), conn=conn, caller=caller)


def submit_new(new: NewTask, *, conn: AnyConnection | None = None, caller: Caller = SYSTEM) -> Task:
    """The task that is returned has the tenant of the caller, also if it is the holder of a dedup key."""
    require_may_create()
    row = new.to_row(caller)
    if new.workflow_id is not None:
        task = _insert_joining(row, conn, caller)
    else:
        task = insert_one(row, conn=conn) if new.dedup_key is None else _insert_keyed(row, conn=conn)
    return task.as_seen_by(caller)


def submit_many(tasks: Iterable[NewTask], *, conn: AnyConnection | None = None, caller: Caller = SYSTEM) -> list[str]:
    """Accepts many tasks, or none: they commit together. Returns their ids in order; for a dedup key that is taken, the
    id of its holder. With `conn`, in the caller's own transaction, which only the caller can repeat."""
    require_may_create()
    with _pause_collector():
        rows = [task.to_row(caller) for task in tasks]
    if conn is not None:
        ids, inserted = insert_all(rows, conn, caller)
    elif len(rows) > CHUNK or any(row["dedup_key"] is not None or row["workflow_id"] is not None for row in rows):
        ids, inserted = _insert_together(rows, caller)
    else:
        ids, inserted = [row["id"] for row in rows], insert_many(rows, conn=None) if rows else []
    log_transitions(inserted, **_FROM_NOTHING)
    return ids


@retrying
def insert_one(row: Row, *, conn: AnyConnection | None) -> Task:
    gates = {"gates": row["gates"] or None, "gate_limits": row["gate_limits"] or None}
    parameters = {**row, **gates, "payload": to_json(row["payload"]).decode()}
    created_at: str | None = None
    try:
        [inserted] = _insert("submit_one", parameters, {row["queue"]}, conn)
        created_at = inserted["created_at"]
    except AlreadyExists:  # the id is new: an earlier try has been committed, and its answer was lost
        if conn is not None:
            raise
        notify_work([row["queue"]])  # its hint may be lost as well
    task = get_task(row["id"], conn=conn) if created_at is None else Task.from_submission(row, created_at)
    if task.epoch == 0:  # otherwise a worker has claimed it since an earlier try
        log_transitions([{"id": task.task_id, "actor": task.actor, "epoch": 0, "status": task.status}], **_FROM_NOTHING)
    return task


@retrying
def _insert_keyed(row: Row, *, conn: AnyConnection | None) -> Task:
    """Takes the dedup key and inserts the task. Returns the holder if the key is taken, and the task itself if an
    earlier try has been committed and its answer was lost."""
    with transaction(conn) as used:
        [taken] = _take_keys([row], used)
        if taken["holder"] == row["id"] and not taken["known"]:
            task = insert_one(row, conn=used)
        else:
            task = get_task(taken["holder"], conn=used)
            task.deduplicated = task.task_id != row["id"]
    if conn is None:
        notify_work([row["queue"]])
    return task


def _insert_joining(row: Row, conn: AnyConnection | None, caller: Caller) -> Task:
    """Inserts a task that joins a workflow. Returns the holder of its dedup key if that is taken."""
    ids, inserted = _insert_together([row], caller) if conn is None else insert_all([row], conn, caller)
    log_transitions(inserted, **_FROM_NOTHING)
    task = get_task(ids[0], conn=conn)
    task.deduplicated = task.task_id != row["id"]
    return task


def _insert_together(rows: Sequence[Row], caller: Caller) -> tuple[list[str], list[Row]]:
    """Inserts all in one transaction, which is repeated as a whole. The ids are the same at each try: if an earlier
    try's commit has succeeded and its answer was lost, the tasks are found, and its result is returned."""
    ids: list[str] = []
    inserted: list[Row] = []

    @retrying
    def attempt() -> None:
        nonlocal ids, inserted
        if ids and fetch("any_task", {"ids": [row["id"] for row in rows]}):
            return
        with transaction() as own:
            ids, inserted = insert_all(rows, own, caller)

    attempt()
    notify_work({row["queue"] for row in rows})
    return ids, inserted


def insert_all(rows: Sequence[Row], conn: AnyConnection, caller: Caller) -> tuple[list[str], list[Row]]:
    """Returns the ids to answer, in order, and the rows that were inserted. Of several rows with the same key, the
    first one takes it."""
    firsts: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["dedup_key"] is not None:
            firsts.setdefault(_get_key(row), row)
    taken = {each["id"]: each for each in _take_keys(list(firsts.values()), conn)}
    holders = {key: taken[first["id"]]["holder"] for key, first in firsts.items()}
    ids = [str(holders.get(_get_key(row), row["id"])) for row in rows]
    new = [row for row, answered in zip(rows, ids, strict=True) if answered == row["id"]]
    lock_joined(new, conn, caller)
    chunks = [new[start : start + CHUNK] for start in range(0, len(new), CHUNK)]
    return ids, [row for chunk in chunks for row in insert_many(chunk, conn=conn)]


def _get_key(row: Row) -> tuple[Any, ...]:
    return row["tenant"], row["actor"], row["dedup_key"]


def _take_keys(rows: Sequence[Row], conn: AnyConnection) -> list[Row]:
    """Takes the keys in their own order, not in that of the rows: two callers with the same keys never deadlock."""
    if not rows:
        return []
    asked = to_json([{name: row[name] for name in _KEY_FIELDS} for row in rows]).decode()
    return fetch("dedup_take", {"asked": asked}, conn)


@retrying
def insert_many(rows: Sequence[Row], *, conn: AnyConnection | None) -> list[Row]:
    """Returns the rows that were inserted: all, or none if an earlier try was committed and its answer was lost."""
    _count_predecessors(rows)
    with _pause_collector():
        # What is empty is left out: most tasks have few of the fields.
        given = [{name: value for name, value in row.items() if value is not None and value != []} for row in rows]
        tasks = to_json(given)
    queues = {row["queue"] for row in rows}
    try:
        return _insert("submit", {"tasks": tasks.decode()}, queues, conn)
    except AlreadyExists:  # the ids are new
        if conn is not None:
            raise
        notify_work(queues)  # the hint may be lost as well
        return []


def _insert(statement: str, parameters: Row, queues: set[str], conn: AnyConnection | None) -> list[Row]:
    """Without `conn`, notifies workers as well, if possible in the same round trip. With `conn`, the caller does so
    after the commit."""
    if conn is not None:
        return fetch(statement, parameters, conn)
    hint = take_work_hint(queues)
    if hint is not None:
        return fetch(statement, parameters, then=("notify", hint))
    inserted = fetch(statement, parameters)
    notify_work(queues)
    return inserted


@contextmanager
def _pause_collector() -> Iterator[None]:
    """Keeps Python's garbage collector from looking for garbage among thousands of objects that are all needed: that
    would take a third of the time. If two threads do so at once, the one that came first resumes it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _count_predecessors(rows: Sequence[Row]) -> None:
    """Counts for each row how many of the same kind come before it in this batch: its rank and its place in a line
    follow from that."""
    followers: dict[tuple[Any, ...], int] = {}
    crowds: dict[str, int] = {}
    for row in rows:
        kind = (row["queue"], row["priority"], row["tenant"])
        row["follower"] = before = followers.get(kind, 0)
        followers[kind] = before + 1
        if row["gates"]:
            gate = row["gates"][0]
            row["crowd"] = crowd = crowds.get(gate, 0)
            crowds[gate] = crowd + 1
