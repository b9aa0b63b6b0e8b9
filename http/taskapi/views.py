"""What clients get to see: the models of all answers. OpenAPI is generated from them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field
from starlette.responses import Response

from state.tasks.catalog import ActorSpec
from state.tasks.events import Event
from state.tasks.reads import Task

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


class GateView(BaseModel):
    """What keeps tasks from starting. `max_concurrent` differs from `declared_concurrent` where it was changed."""

    key: str
    max_concurrent: int | None
    declared_concurrent: int | None
    rate_count: int | None
    rate_seconds: float | None
    paused: bool
    closed_until: datetime | None
    breaker_threshold: float | None
    breaker_volume: int
    breaker_window: float
    breaker_seconds: float
    breaker_state: Literal["closed", "open", "half_open"]
    breaker_changed_at: datetime | None
    probe_task: str | None
    running: int
    waiting: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "GateView":
        return cls.model_construct(**_in_utc({name: row[name] for name in cls.model_fields}))


class Depths(BaseModel):
    primary: int
    retry: int
    scheduled: int
    waiting: int
    dlq: int


class QueueDepths(BaseModel):
    queue: str
    primary: int
    retry: int
    running: int
    paused: bool


class QueuesStatus(BaseModel):
    queues: Depths
    states: dict[str, int] = Field(description="How many tasks are in each status that is not an end.")
    retry_ratio: float = Field(description="The share of starts that goes to the retry lane now.")
    by_queue: list[QueueDepths]


class QueueSwitch(BaseModel):
    """A queue that was paused or resumed, and the gate that does it."""

    queue: str
    gate: str
    paused: bool


class TargetView(Page[TaskView]):
    """A target's unfinished tasks, the oldest first."""

    target: str
    tenant: str | None


class ActionView(BaseModel):
    needs_prompt: bool
    needs_source: bool
    params: dict[str, Any] = Field(description="JSON schema.")


class ProviderLimits(BaseModel):
    """As the code declares them; the gate `provider:<name>` has what holds now."""

    concurrency: int | None
    poll_seconds: float | None


class ProviderView(BaseModel):
    name: str
    kind: Literal["media", "language"]
    available: bool
    missing: str | None = Field(description="The environment variable to set.")
    limits: ProviderLimits
    actions: dict[str, ActionView]


class PreviewView(BaseModel):
    """Null where that cannot be known without asking the provider."""

    provider: str
    action_type: str
    cost: float | None
    unit: str | None
    width: int | None
    height: int | None
    count: int | None
    expected_seconds: float | None


class MadeContent(BaseModel):
    content_id: str
    media_type: str
    size: int
    sha256: str
    url: str


class GenerationView(BaseModel):
    """One request to a media provider, and what became of it."""

    id: str
    task_id: str
    tenant: str | None
    provider: str
    action_type: str
    prompt: str | None
    request: dict[str, Any]
    raw_response: dict[str, Any] | None
    status: str
    task_status: str
    error: dict[str, Any] | None
    contents: list[MadeContent]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "GenerationView":
        made = [MadeContent(**each, url=f"{PREFIX}/contents/{each['content_id']}") for each in row["contents"]]
        return cls.model_construct(**_in_utc({**row, "contents": made}))


class PromptView(BaseModel):
    id: str
    tenant: str | None
    text: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "PromptView":
        return cls.model_construct(**_in_utc(row))


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


class ActorsHealth(BaseModel):
    """Tasks of an actor that no worker knows wait for one that does."""

    status: Literal["ok", "missing", "unknown"]
    missing: list[str]
    detail: str | None


class HealthComponents(BaseModel):
    database: DatabaseHealth
    workers: WorkersHealth
    circuit_breakers: dict[str, str]
    consumption: ConsumptionHealth
    actors: ActorsHealth


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
