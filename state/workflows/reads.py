"""Workflows as clients see them, and how they are read."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from state.access.caller import SYSTEM, Caller
from state.database import AnyConnection, Parameters, Row, fetch, fetch_one, retrying
from state.errors import StepNotFound, WorkflowNotFound
from state.tasks.reads import DEFAULT_LIMIT
from state.transitions import Status
from state.workflows.definition import Escalation, Kind

WorkflowStatus = Literal["running", "completed", "failed", "escalated", "canceled"]
StepStatus = Literal["pending", "running", "waiting", "completed", "dead", "rejected", "expired", "canceled"]


class StoredStep(BaseModel):
    key: str
    kind: Kind
    status: StepStatus
    after: list[str]
    agent_name: str | None
    task_type: str | None
    input: dict[str, Any] | None
    for_each: Any
    priority: int | None
    max_attempts: int | None
    task_id: str | None
    task_ids: list[str]
    task_counts: dict[Status, int]  # its tasks by status; those without any are missing
    result: Any  # None if it has more than 256 KB, or comes after the first 16 MB: the tasks have it
    result_bytes: int | None  # of a completed step
    error: dict[str, Any] | None
    decision: Literal["approved", "rejected"] | None
    decided_by: str | None
    note: str | None
    decided_at: datetime | None
    expires_seconds: float | None
    expires_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def from_row(cls, row: Row) -> "StoredStep":
        return cls.model_validate({**row, "task_id": next(iter(row["task_ids"]), None)})


class WorkflowHead(BaseModel):
    """A workflow without its steps."""

    workflow_id: str
    name: str
    status: WorkflowStatus
    reason: str | None
    failure_threshold: int
    escalation: Escalation | None
    tenant: str | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class ListedWorkflow(WorkflowHead):
    step_counts: dict[StepStatus, int]
    current_steps: list[str]  # the first 10 that run, or wait for a decision

    @classmethod
    def from_row(cls, row: Row) -> "ListedWorkflow":
        return cls.model_validate({**row, "workflow_id": row["id"]})


class StoredWorkflow(WorkflowHead):
    steps: list[StoredStep]
    last_event: int

    @classmethod
    def from_row(cls, row: Row) -> "StoredWorkflow":
        steps = [StoredStep.from_row(step) for step in row["steps"]]
        return cls.model_validate({**row, "workflow_id": row["id"], "steps": steps})

    @property
    def finished(self) -> bool:
        """Whether no more events are expected, unless a person acts. Tasks may run on after the workflow has ended."""
        return self.status != "running" and all(step.status != "running" for step in self.steps)

    def without_tracebacks(self) -> "StoredWorkflow":
        """The errors of steps have none: they stay with the tasks."""
        return self

    def get_step(self, key: str) -> StoredStep:
        for step in self.steps:
            if step.key == key:
                return step
        raise StepNotFound(self.workflow_id, key)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A workflow that goes on, without its steps."""

    last_event: int
    finished: bool = False

    def without_tracebacks(self) -> "Unfinished":
        return self


@retrying
def get_workflow(
    workflow_id: str, *, brief: bool = False, conn: AnyConnection | None = None, caller: Caller = SYSTEM
) -> StoredWorkflow:
    """`brief`: without the inputs and results of its steps, which may be large."""
    wanted: Parameters = {"ids": [workflow_id], "brief": brief, "step": None, "scope": caller.tenant}
    row = fetch_one("workflows_of_many", wanted, conn)
    if row is None:
        raise WorkflowNotFound(workflow_id)
    return StoredWorkflow.from_row(row)


@retrying
def get_workflows_of_many(ids: Collection[str], *, caller: Caller = SYSTEM) -> dict[str, StoredWorkflow]:
    """Reads many workflows in one query. Those that do not exist are not in the result."""
    wanted: Parameters = {"ids": list(ids), "brief": False, "step": None, "scope": caller.tenant}
    rows = fetch("workflows_of_many", wanted)
    return {row["id"]: StoredWorkflow.from_row(row) for row in rows}


@retrying
def get_followed_workflows(ids: Collection[str]) -> dict[str, StoredWorkflow | Unfinished]:
    """For streams, which look after each end of a step, and have read the workflow as their caller before: the steps
    of a workflow, whose results may be large, are read only if it is finished."""
    rows = fetch("workflows_unfinished", {"ids": list(ids)})
    unfinished = {row["id"]: Unfinished(row["last_event"]) for row in rows}
    return {**get_workflows_of_many(set(ids) - unfinished.keys()), **unfinished}


@retrying
def list_workflows(
    *,
    status: str | None = None,
    tenant: str | None = None,
    before: str | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[ListedWorkflow]:
    """Newest first. `before`: the last id of the previous page."""
    wanted = {"status": status, "tenant": tenant, "before": before, "limit": limit, "scope": caller.tenant}
    rows = fetch("workflows", wanted)
    return [ListedWorkflow.from_row(row) for row in rows]
