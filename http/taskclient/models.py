"""What the API answers with. Fields that this release does not know are kept (`model_extra`)."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead"]
FINISHED = frozenset(("completed", "canceled", "dead"))


class Document(BaseModel):
    """An answer, or a part of one. A server of a later release may send more."""

    model_config = ConfigDict(extra="allow")


class Progress(Document):
    percent: float | None = None
    message: str | None = None
    elapsed_ms: int | None = None


class TaskError(Document):
    """Why an attempt, or the task as a whole, has failed."""

    type: str
    message: str | None = None
    category: str | None = None
    details: Any = None
    traceback: str | None = None


class Waiting(Document):
    """Why a task does not start yet."""

    reason: str
    gate: str
    position: int | None = None
    eta_seconds: float | None = None


class Usage(Document):
    tokens: int = 0
    cost: float = 0.0


class Task(Document):
    task_id: str
    actor: str
    queue: str
    lane: str
    status: str
    priority: int
    payload: dict[str, Any]
    result: Any = None
    error: TaskError | None = None
    error_history: list[TaskError] = []
    progress: Progress
    attempt: int
    max_attempts: int
    retry_count: int = 0
    epoch: int = 0
    available_at: datetime
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    updated_at: datetime
    worker_id: str | None = None
    heartbeat_at: datetime | None = None
    lease_expires_at: datetime | None = None
    cancel_requested: str | None = None
    tenant: str | None = None
    target: str | None = None
    workflow_id: str | None = None
    dedup_key: str | None = None
    deduplicated: bool | None = None  # only in answers to a submission
    gates: list[str] = []
    waiting: Waiting | None = None
    usage: Usage = Usage()

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


class ListedTask(Task):
    """A task in a list. What is large is None, and named in `omitted`: `Client.get` has it."""

    payload: dict[str, Any] | None = None  # type: ignore[assignment]
    omitted: list[str] = []


class Event(Document):
    """A line of a history, or of a stream: `snapshot` and `done` carry the whole task, workflow or project."""

    n: int
    kind: str
    data: dict[str, Any]
    at: datetime | None = None

    @property
    def task(self) -> Task:
        """The task of a `snapshot` or of `done`."""
        return Task.model_validate(self.data)


class Attempt(Document):
    """One execution of a task; the one that runs now has no outcome yet."""

    epoch: int
    attempt: int
    worker_id: str
    outcome: str | None = None
    error: TaskError | None = None
    started_at: datetime
    finished_at: datetime | None = None


class BatchOutcome(Document):
    """What became of one task of a batch: it has an id, or a problem document. A large answer leaves out `task`."""

    status: int
    task_id: str | None = None
    task: Task | None = None
    problem: dict[str, Any] | None = None
