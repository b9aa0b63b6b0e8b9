"""Tasks as clients see them, and how they are read."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Self

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.tracebacks import hide_traceback, hide_traceback_in
from state.database import AnyConnection, Row, fetch, fetch_one, retrying
from state.errors import IllegalTransition, TaskNotFound
from state.transitions import FINISHED, Lane, Status
from state.unvalidated import Unvalidated

DEFAULT_LIMIT = 100

_NEVER_RAN: dict[str, Any] = {
    "lane": "primary",
    "result": None,
    "error": None,
    "attempt": 0,
    "epoch": 0,
    "retry_count": 0,
    "started_at": None,
    "finished_at": None,
    "worker_id": None,
    "cancel_requested": None,
    "last_event": 1,
    "heartbeat_at": None,
    "lease_expires_at": None,
    "workflow_id": None,
    "waiting": None,
    "deduplicated": False,
}


class Task(Unvalidated):
    task_id: str
    actor: str
    queue: str
    lane: Lane
    status: Status
    priority: int
    payload: dict[str, Any]
    result: Any = None
    error: dict[str, Any] | None = None
    error_history: list[dict[str, Any]]
    progress: dict[str, Any]
    attempt: int
    max_attempts: int
    retry_count: int
    epoch: int
    available_at: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    worker_id: str | None
    heartbeat_at: datetime | None
    lease_expires_at: datetime | None
    cancel_requested: str | None
    tenant: str | None
    target: str | None
    workflow_id: str | None
    dedup_key: str | None
    deduplicated: bool = False
    gates: list[str]
    waiting: dict[str, Any] | None
    usage: dict[str, Any]
    last_event: int

    @classmethod
    def from_row(cls, row: Row) -> Self:
        known = {**_NEVER_RAN, "error_history": [], **row}  # some statements leave out columns that must be empty
        known["task_id"] = row["id"]
        known["retry_count"] = max(row["attempt"] - 1, 0)
        known["usage"] = {"tokens": row["tokens"], "cost": float(row["cost"])}
        if row["progress"] is None:
            has_begun = row["status"] == "running" or row["status"] in FINISHED
            attempts_used = max(row["attempt"] - has_begun, 0)
            known["progress"] = {**_make_first_progress(attempts_used), "updated_at": row["updated_at"].isoformat()}
        return cls._construct({name: known[name] for name in cls.model_fields})

    @classmethod
    def from_submission(cls, asked: Row, created_at: str, status: Status | None = None) -> Self:
        """Returns the task that submit has inserted, without reading it back. `status`: as the statement says."""
        due = at = datetime.fromisoformat(created_at)
        if asked["available_at"] is not None:
            due = datetime.fromisoformat(asked["available_at"])
        elif asked["delay_seconds"] is not None:
            due += timedelta(seconds=asked["delay_seconds"])
        return cls._construct({
            **_NEVER_RAN,
            "task_id": asked["id"],
            "actor": asked["actor"],
            "queue": asked["queue"],
            "status": status or ("scheduled" if due > at else "queued"),
            "priority": asked["priority"],
            "payload": asked["payload"],
            "error_history": [],
            "progress": {**_make_first_progress(0), "updated_at": created_at},
            "max_attempts": asked["max_attempts"],
            "available_at": due,
            "created_at": at,
            "updated_at": at,
            "tenant": asked["tenant"],
            "target": asked["target"],
            "dedup_key": asked["dedup_key"],
            "gates": asked["gates"],
            "usage": {"tokens": 0, "cost": 0.0},
        })  # fmt: skip

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def without_tracebacks(self) -> Self:
        if self.error is None and not self.error_history:
            return self
        hidden = {"error": hide_traceback(self.error), "error_history": list(map(hide_traceback, self.error_history))}
        return self._construct({**self.__dict__, **hidden})

    def as_seen_by(self, caller: Caller) -> Self:
        return self if caller.has_role("operator") else self.without_tracebacks()


class ListedTask(Task):
    """A task in a list. Its payload and its result are None if they are large; `omitted` says so."""

    payload: dict[str, Any] | None  # type: ignore[assignment]
    omitted: list[str]

    @classmethod
    def from_row(cls, row: Row) -> Self:
        return super().from_row({**row, "omitted": find_omitted(row)})


def find_omitted(row: Row) -> list[str]:
    """Returns which values of a row with listed_columns were left out, as they are large."""
    missing = {"payload": row["payload"] is None, "result": row["result"] is None and _is_large(row["result_size"])}
    return [name for name, is_missing in missing.items() if is_missing]


def _is_large(stored_size: int | None) -> bool:
    """Whether a result that is None was left out. A JSON null is stored in 12 bytes at most. What is left out takes
    more, however well it was compressed: 40 KB of one character take 480 bytes."""
    return stored_size is not None and stored_size > 16


def _make_first_progress(attempts_used: int) -> dict[str, Any]:
    """Returns the progress of a task whose code has not yet reported any in this attempt."""
    message = f"Retrying (attempt {attempts_used + 1})" if attempts_used else "Queued"
    return {"percent": 0, "message": message, "elapsed_ms": 0}


@retrying
def get_task(task_id: str, *, conn: AnyConnection | None = None, caller: Caller = SYSTEM) -> Task:
    row = fetch_one("task", {"id": task_id, "scope": caller.tenant}, conn)
    if row is None:
        raise TaskNotFound(task_id)
    return Task.from_row(row).as_seen_by(caller)


@retrying
def get_tasks_of_many(
    ids: Collection[str], *, conn: AnyConnection | None = None, caller: Caller = SYSTEM
) -> dict[str, Task]:
    """Reads many tasks in one query. Tasks that do not exist are not in the result."""
    rows = fetch("tasks_of_many", {"ids": list(ids), "scope": caller.tenant}, conn)
    return {row["id"]: Task.from_row(row).as_seen_by(caller) for row in rows}


_FILTERS = (
    "status",
    "actor",
    "agent_name",
    "task_type",
    "queue",
    "lane",
    "tenant",
    "target",
    "error_type",
    "workflow_id",
    "workflow_run_id",
    "fingerprint",  # of dead letters
)


@retrying
def list_tasks(
    *, before: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM, **filters: str | None
) -> list[ListedTask]:
    """Newest first. `before`: the last id of the previous page."""
    wanted = jsonsafe.dump(make_filter(filters, caller))
    rows = fetch("tasks", {"wanted": wanted, "before": before, "limit": limit})
    return [ListedTask.from_row(row).as_seen_by(caller) for row in rows]


def make_filter(filters: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Returns the filter as newest_tasks takes it."""
    if unknown := filters.keys() - set(_FILTERS):
        raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
    return {**filters, "scope": caller.tenant}


@retrying
def get_attempts(task_id: str, *, after: int = 0, limit: int | None = None, caller: Caller = SYSTEM) -> list[Row]:
    """Oldest first. `after`: the last epoch of the previous page."""
    get_task(task_id, caller=caller)
    rows = fetch("attempts", {"id": task_id, "after": after, "limit": limit, "scope": caller.tenant})
    return rows if caller.has_role("operator") else list(map(hide_traceback_in, rows))


def make_refusal(task_id: str, verb: str, caller: Caller = SYSTEM) -> IllegalTransition:
    """Returns the error to raise if a verb's UPDATE has changed nothing: the task is in the wrong status. Raises
    TaskNotFound if there is no such task."""
    return IllegalTransition(task_id, verb, get_task(task_id, caller=caller).status)
