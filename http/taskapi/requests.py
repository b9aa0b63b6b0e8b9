"""What clients may send: bodies, queries, headers, ids."""

import re
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from starlette.requests import Request

from state import jsonsafe
from state.errors import ContentNotFound, GateNotFound, GenerationNotFound, PromptNotFound, TaskNotFound
from state.tasks import catalog
from state.tasks.ids import is_content_id, is_generation_id, is_task_id
from state.tasks.queues import RESERVED
from state.tasks.submission import NewTask
from state.transitions import Lane, Status
from taskapi.bodies import refusal
from taskapi.problems import Problem, at_field

MAX_LIMIT = 500
LAST_POSITION = 2**31 - 1  # n is an integer of four bytes
_LONGEST_KEY = 255
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]")
_YEARS = range(1970, 9000)  # with any age added to it, still a date that Python can read

_Query = TypeVar("_Query", bound=BaseModel)


def _iso_text(value: object) -> object:
    """Pydantic would take numbers for moments as well, and guess their unit."""
    if not isinstance(value, str) or _DATE.match(value) is None:
        raise ValueError("must be a text in ISO 8601, such as 2030-01-31T08:00:00Z")
    return value


def _digits(value: object) -> object:
    """Pydantic would take 1.0 and 1_0 as well."""
    if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
        raise ValueError("must be a whole number")
    return value


def _within_reach(value: datetime) -> datetime:
    if value.year not in _YEARS:
        raise ValueError(f"the year must be {_YEARS.start} to {_YEARS.stop - 1}")
    return value


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_iso_text), AfterValidator(_within_reach)]
Count = Annotated[int, BeforeValidator(_digits)]
Position = Annotated[Count, Field(ge=0, le=LAST_POSITION)]


class TaskOptions(BaseModel):
    """What can be said about a task besides what it is to do. What is left out, the actor's declaration says."""

    model_config = ConfigDict(strict=True, extra="forbid")

    queue: str | None = Field(None, min_length=1, max_length=200)
    priority: int = Field(2, ge=0, le=3, description="0 comes first.")
    max_attempts: int | None = Field(None, ge=1, le=1000)
    delay_seconds: float | None = Field(None, ge=0)
    available_at: Moment | None = None
    max_age_seconds: float | None = Field(None, ge=0, description="Counted from the moment the task may start.")
    tenant: str | None = Field(None, min_length=1, max_length=200)
    target: str | None = Field(None, min_length=1, max_length=200, description="One task of it runs at a time.")
    dedup_key: str | None = Field(None, min_length=1, max_length=200)
    dedup_ttl_seconds: float = Field(24 * 3600.0, ge=0, description="How long the key is held at the most.")

    def task(self, actor: str, payload: dict[str, Any]) -> NewTask:
        options = {name: getattr(self, name) for name in TaskOptions.model_fields}
        return NewTask(actor, payload, **options)


class NewTaskBody(TaskOptions):
    """A task. `task_type` may stand for `actor`."""

    actor: str = Field(min_length=1, max_length=200, description="See GET /api/v1/actors.")
    payload: dict[str, Any] = Field(description="What the actor's payload schema asks for.")

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, body: Any) -> Any:
        if isinstance(body, dict) and "task_type" in body and "actor" not in body:
            body = {("actor" if name == "task_type" else name): value for name, value in body.items()}
        return body

    def new_task(self) -> NewTask:
        return self.task(self.actor, self.payload)


class SummarizeBody(TaskOptions):
    """A text to summarize."""

    content: str
    max_sentences: int | None = None

    def new_task(self) -> NewTask:
        payload: dict[str, Any] = {"content": self.content}
        if self.max_sentences is not None:
            payload["max_sentences"] = self.max_sentences
        return self.task("summarize", payload)


class CancelBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    force: bool = Field(False, description="Code that does not stop loses its process, which is replaced.")


class TaskQuery(BaseModel):
    """Filters, all of which must hold."""

    model_config = ConfigDict(extra="forbid")

    status: Status | None = None
    actor: str | None = None
    queue: str | None = None
    lane: Lane | None = None
    workflow_run_id: str | None = None
    tenant: str | None = None
    target: str | None = None
    error_type: str | None = None
    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


class EventQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    after: Position = Field(0, description="Only lines with a greater n.")
    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before; goes before `after`.")


class StreamQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    after: Position | None = Field(None, description="As the header Last-Event-ID, which goes before it.")


class GateBody(BaseModel):
    """What is not named stays as it is."""

    model_config = ConfigDict(strict=True, extra="forbid")

    max_concurrent: int | None = Field(None, description="How many may run at once; null: any number.")
    rate_count: int | None = Field(None, description="So many starts in `rate_seconds`; both null: no rate.")
    rate_seconds: float | None = None
    paused: bool | None = None
    closed_until: Moment | None = None
    breaker_threshold: float | None = Field(None, description="The rate of failures that opens it; null: no breaker.")
    breaker_volume: int | None = Field(None, description="Results that must be there to judge.")
    breaker_window: float | None = Field(None, description="Seconds that are looked back.")
    breaker_seconds: float | None = Field(None, description="How long it stays open before a probe.")

    def changes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class GateQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


class TenantQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tenant: str | None = Field(None, min_length=1, max_length=200)


class TargetQuery(TenantQuery):
    """Tenants are part of a target's identity."""

    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


class PreviewBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    action_type: str = Field(description="One of the provider's actions, see GET /api/v1/providers.")
    params: dict[str, Any] = Field(default_factory=dict)


class PromptBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    text: str


def is_position(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= LAST_POSITION


def parse_query(request: Request, model: type[_Query]) -> _Query:
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) < len(pairs):
        raise at_field("invalid-parameter", "", "Give each parameter once.")
    try:
        jsonsafe.check(values)
        return model.model_validate(values)
    except jsonsafe.UnsafeJson as unsafe:
        raise at_field("invalid-parameter", unsafe.path, str(unsafe).removeprefix(f"{unsafe.path}: ")) from None
    except ValidationError as refused:
        raise refusal("invalid-parameter", refused) from None


def task_id_of(request: Request) -> str:
    task_id: str = request.path_params["task_id"]
    if not is_task_id(task_id):
        raise TaskNotFound(task_id)
    return task_id


def content_id_of(request: Request) -> str:
    content_id: str = request.path_params["content_id"]
    if not is_content_id(content_id):
        raise ContentNotFound(content_id)
    return content_id


def generation_id_of(request: Request) -> str:
    generation_id: str = request.path_params["generation_id"]
    if not is_generation_id(generation_id):
        raise GenerationNotFound(generation_id)
    return generation_id


def gate_key_of(request: Request) -> str:
    key: str = request.path_params["key"]
    if not key.isprintable():
        raise GateNotFound(key)
    return key


def prompt_id_of(request: Request) -> str:
    prompt_id: str = request.path_params["prompt_id"]
    if not prompt_id.isprintable():
        raise PromptNotFound(prompt_id)
    return prompt_id


def target_of(request: Request) -> str:
    target: str = request.path_params["target"]
    if not (0 < len(target) <= 200 and target.isprintable()):
        raise at_field("invalid-parameter", "target", "must be 1 to 200 printable characters")
    return target


def queue_of(request: Request) -> str:
    name: str = request.path_params["name"]
    known = [queue for queue in catalog.queues() if queue not in RESERVED]
    if name not in known:
        raise Problem("unknown-queue", f"There is no queue {name!r}.", {"known": known})
    return name


def last_event_id_of(request: Request) -> int | None:
    value = request.headers.get("last-event-id")
    if not value:
        return None
    if not is_position(value):
        raise at_field("invalid-parameter", "Last-Event-ID", "must be the id of an event of this stream")
    return int(value)


def idempotency_key_of(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        raise at_field("invalid-parameter", "Idempotency-Key", f"must be 1 to {_LONGEST_KEY} printable characters")
    return key
