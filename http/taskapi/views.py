"""What clients get to see: the models of all answers. OpenAPI is generated from them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field
from starlette.responses import Response

from state.catalog import ActorSpec
from state.events import Event
from state.tasks import Task

PREFIX = "/api/v1"

_Item = TypeVar("_Item")


def _in_utc(values: Mapping[str, Any]) -> dict[str, Any]:
    """Through a pooler, a session's time zone is anybody's."""
    return {name: v.astimezone(UTC) if isinstance(v, datetime) else v for name, v in values.items()}


class Links(BaseModel):
    self: str
    events: str
    attempts: str
    stream: str
    cancel: str

    @classmethod
    def of(cls, task_id: str) -> "Links":
        here = f"{PREFIX}/tasks/{task_id}"
        parts = {name: f"{here}/{name}" for name in ("events", "attempts", "stream", "cancel")}
        return cls.model_validate({"self": here, **parts})


class TaskView(Task):
    """A task. A null is null, not missing."""

    last_event: int = Field(exclude=True)
    deduplicated: bool = Field(False, exclude=True)
    links: Links

    @classmethod
    def of(cls, task: Task) -> "TaskView":
        values = _in_utc(task.__dict__)
        moment = task.progress.get("updated_at")
        if isinstance(moment, str):  # Postgres has its own way to write it in JSON
            values["progress"] = {**task.progress, "updated_at": datetime.fromisoformat(moment).astimezone(UTC)}
        return cls.model_construct(**values, links=Links.of(task.task_id))


class AcceptedTask(TaskView):
    """The answer to a submission; `deduplicated`: the key's holder, which was there before."""

    deduplicated: bool = False


class EventView(BaseModel):
    """One numbered line of a task's history."""

    n: int
    kind: str
    data: dict[str, Any]
    at: datetime

    @classmethod
    def of(cls, event: Event) -> "EventView":
        return cls.model_construct(n=event.n, kind=event.kind, data=event.data, at=event.at.astimezone(UTC))


class AttemptView(BaseModel):
    """One execution; without an outcome, the one that runs now."""

    epoch: int
    attempt: int
    worker_id: str
    outcome: str | None
    error: dict[str, Any] | None
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "AttemptView":
        return cls.model_construct(**_in_utc(row))


class WorkerView(BaseModel):
    id: str
    host: str
    pid: int
    queues: list[str]
    threads: int
    running: int
    started_at: datetime
    seen_at: datetime
    silent_seconds: float
    alive: bool

    @classmethod
    def of(cls, row: Mapping[str, Any], lease_seconds: float) -> "WorkerView":
        known = {name: row[name] for name in cls.model_fields if name in row}
        return cls.model_construct(**_in_utc(known), alive=row["silent_seconds"] < lease_seconds)


class PolicyView(BaseModel):
    """Seconds to wait before the next attempt, by error type; the last one repeats."""

    schedules: dict[str, list[float]]
    default: list[float]


class ActorView(BaseModel):
    name: str
    description: str
    queue: str
    payload_schema: dict[str, Any]
    max_attempts: int
    max_age_seconds: float | None
    time_limit_seconds: float
    policy: PolicyView
    gates: list[str] = Field(description="Those that are known before a payload is; a task may have others.")

    @classmethod
    def of(cls, spec: ActorSpec) -> "ActorView":
        schedules = {error: list(delays) for error, delays in spec.policy.schedules.items()}
        return cls(
            name=spec.name,
            description=spec.description,
            queue=spec.queue,
            payload_schema=spec.request.model_json_schema(),
            max_attempts=spec.max_attempts,
            max_age_seconds=spec.max_age(),
            time_limit_seconds=spec.time_limit,
            policy=PolicyView(schedules=schedules, default=list(spec.policy.default)),
            gates=[gate.key for gate in spec.known_gates()] if spec.known_gates else [],
        )


class Page(BaseModel, Generic[_Item]):
    items: list[_Item]
    next_cursor: str | None = None


class DatabaseHealth(BaseModel):
    status: Literal["ok", "down"]
    latency_ms: float | None


class WorkersHealth(BaseModel):
    status: Literal["ok", "none", "unknown"]
    alive: int | None
    seconds_since_seen: float | None


class ConsumptionHealth(BaseModel):
    status: Literal["idle", "moving", "stalled", "unknown"]
    running: int | None
    oldest_queued_seconds: float | None
    last_started_seconds: float | None


class HealthComponents(BaseModel):
    database: DatabaseHealth
    workers: WorkersHealth
    circuit_breakers: dict[str, str]
    consumption: ConsumptionHealth


class Health(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    components: HealthComponents
    timestamp: datetime


class Sign(BaseModel):
    """A probe's answer."""

    status: str


class ProblemView(BaseModel):
    """RFC 9457. `error` is the bare token of `type`."""

    type: str
    title: str
    status: int
    detail: str
    error: str
    field: str | None = None
    task_id: str | None = None
    known: list[str] | None = None


def answer(view: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(view.model_dump_json(), status, headers, "application/json")
