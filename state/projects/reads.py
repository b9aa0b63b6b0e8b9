"""Projects, their items and their runs as clients see them, and how they are read."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, retrying
from state.errors import ItemNotFound, ProjectNotFound
from state.tasks.reads import DEFAULT_LIMIT

Mode = Literal["single", "loop"]
ItemStatus = Literal["pending", "in_progress", "completed", "failed"]


class QueueState(BaseModel):
    """The state of a project's queue. It runs as long as it has a live run."""

    is_running: bool
    should_stop: bool
    mode: Mode | None
    current_run_id: str | None
    current_item_id: str | None
    run_status: str | None  # of the current run's task
    paused: bool  # the current run is paused, and holds the queue
    started_at: datetime | None
    stopped_at: datetime | None
    elapsed_seconds: float | None  # since the start, while it runs
    last_error: str | None

    @classmethod
    def from_row(cls, row: Row) -> "QueueState":
        known = {name: row.get(name) for name in cls.model_fields}
        running, paused = row["current_run_id"] is not None, row["run_status"] == "paused"
        return cls.model_validate({**known, "is_running": running, "paused": paused})


class ItemCounts(BaseModel):
    pending: int
    in_progress: int
    completed: int
    failed: int


class Project(BaseModel):
    project_id: str
    name: str
    tenant: str | None
    queue_state: QueueState
    items: ItemCounts
    created_at: datetime
    updated_at: datetime
    last_event: int

    @classmethod
    def from_row(cls, row: Row) -> "Project":
        return cls(
            project_id=row["id"],
            queue_state=QueueState.from_row(row),
            items=ItemCounts.model_validate({name: row[name] for name in ItemCounts.model_fields}),
            **{name: row[name] for name in ("name", "tenant", "created_at", "updated_at", "last_event")},
        )

    @property
    def finished(self) -> bool:
        """A project is never finished: items can be added at any time."""
        return False

    def without_tracebacks(self) -> "Project":
        """It has none: those of its runs stay with their tasks."""
        return self


class Item(BaseModel):
    item_id: str
    project_id: str
    position: int
    title: str
    agent_name: str
    task_type: str
    input: dict[str, Any]
    priority: int
    gates: list[str]
    status: ItemStatus
    run_id: str | None
    runs: int
    result: Any = None
    error: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def from_row(cls, row: Row) -> "Item":
        return cls.model_validate({**row, "item_id": row["id"]})


class Run(BaseModel):
    run_id: str  # also the id of its task
    project_id: str
    mode: Mode
    priority: int | None
    requested_item: str | None
    item_id: str | None
    title: str | None
    status: str | None  # of its task
    outcome: Literal["completed", "dead", "canceled"] | None
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None

    @classmethod
    def from_row(cls, row: Row) -> "Run":
        return cls.model_validate({**row, "run_id": row["id"], "status": row["run_status"]})


class Stops(BaseModel):
    """How often a queue has stopped for a reason."""

    reason: str
    count: int
    last_at: datetime


class Statistics(BaseModel):
    """The ended runs of a project: how many, how long they took, what they cost, and why its queue has stopped after
    them. The live run counts in `runs_since_start`, `tokens` and `cost`."""

    runs: int
    completed: int
    failed: int
    canceled: int
    average_seconds: float | None
    total_seconds: float
    runs_since_start: int  # of the queue
    tokens: int
    cost: float  # in dollars
    stops: list[Stops]


@retrying
def get_statistics(project_id: str, *, caller: Caller = SYSTEM) -> Statistics:
    get_project(project_id, caller=caller)
    [row] = fetch("project_statistics", {"project_id": project_id, "scope": caller.tenant})
    return Statistics.model_validate(row)


@retrying
def get_project(project_id: str, *, caller: Caller = SYSTEM) -> Project:
    found = get_projects_of_many([project_id], caller=caller)
    if project_id not in found:
        raise ProjectNotFound(project_id)
    return found[project_id]


@retrying
def get_projects_of_many(ids: Collection[str], *, caller: Caller = SYSTEM) -> dict[str, Project]:
    """Reads many projects in one query. Projects that do not exist are not in the result."""
    wanted = {"ids": list(ids), "before": None, "tenant": None, "limit": len(ids), "scope": caller.tenant}
    rows = fetch("projects", wanted)
    return {row["id"]: Project.from_row(row) for row in rows}


@retrying
def list_projects(
    *, tenant: str | None = None, before: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM
) -> list[Project]:
    """Newest first. `before`: the last id of the previous page."""
    wanted = {"ids": None, "before": before, "tenant": tenant, "limit": limit, "scope": caller.tenant}
    rows = fetch("projects", wanted)
    return [Project.from_row(row) for row in rows]


@retrying
def list_items(
    project_id: str,
    *,
    status: ItemStatus | None = None,
    after: int = 0,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[Item]:
    """In their order. `after`: the last position of the previous page."""
    get_project(project_id, caller=caller)
    return _fetch_items(project_id, caller, status=status, after=after, limit=limit)


@retrying
def get_items_of_many(project_id: str, ids: Collection[str], *, caller: Caller = SYSTEM) -> list[Item]:
    """In their order. Items that do not exist are not in the result."""
    return _fetch_items(project_id, caller, ids=list(ids), limit=len(ids))


@retrying
def get_item(project_id: str, item_id: str, *, caller: Caller = SYSTEM) -> Item:
    found = get_items_of_many(project_id, [item_id], caller=caller)
    if not found:
        get_project(project_id, caller=caller)
        raise ItemNotFound(project_id, item_id)
    return found[0]


@retrying
def list_runs(
    project_id: str, *, before: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM
) -> list[Run]:
    """Newest first. `before`: the last id of the previous page."""
    get_project(project_id, caller=caller)
    wanted = {"project_id": project_id, "before": before, "limit": limit, "scope": caller.tenant}
    rows = fetch("project_runs", wanted)
    return [Run.from_row(row) for row in rows]


def _fetch_items(
    project_id: str,
    caller: Caller,
    *,
    ids: list[str] | None = None,
    status: str | None = None,
    after: int = 0,
    limit: int,
) -> list[Item]:
    wanted = {"project_id": project_id, "ids": ids, "status": status, "after": after, "limit": limit}
    return [Item.from_row(row) for row in fetch("project_items", {**wanted, "scope": caller.tenant})]
