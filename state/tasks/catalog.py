"""The catalog of actors that every process has. The `@task` decorator registers them; HTTP and the workers read it."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from state import jsonsafe
from state.errors import InvalidPayload, UnknownActor
from state.gates import Gate
from state.settings import get_settings

Role = Literal["submitter", "operator"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds to wait before the next attempt, by error type. The last value of a schedule repeats."""

    schedules: dict[str, tuple[float, ...]] = field(default_factory=dict)
    default: tuple[float, ...] = (5, 15, 60, 300)

    def delay(self, error_type: str, attempt: int) -> float:
        schedule = self.schedules.get(error_type, self.default)
        return schedule[min(attempt, len(schedule)) - 1]


STANDARD_POLICY = RetryPolicy(
    schedules={
        "RateLimited": (60, 120, 300, 600),
        "ServiceUnavailable": (5, 10, 30, 60, 120),
        "NetworkTimeout": (2, 5, 10, 30, 60),
    }
)


@dataclass(frozen=True, slots=True)
class ActorSpec:
    name: str
    queue: str
    request: type[BaseModel]
    max_attempts: int
    max_age: Callable[[], float | None]
    time_limit: float
    policy: RetryPolicy
    description: str
    gates: Callable[[Any], Iterable[Gate]] | None = None  # the gates of a request
    known_gates: Callable[[], Iterable[Gate]] | None = None  # declared when a worker starts, before there are tasks
    priority: Callable[[Any], int] | None = None  # of a request for which nobody gives one; None: medium
    role: Role = "submitter"  # the role that a caller needs to submit a task
    created_by: str | None = None  # what creates its tasks, if callers cannot submit them
    is_async: bool = False  # its function is a coroutine function

    @property
    def title(self) -> str:
        return f"actor {self.name}"

    def validate(self, payload: Any) -> tuple[BaseModel, dict[str, Any]]:
        """Returns the request, and the payload as it will be stored; raises InvalidPayload with the field's name."""
        if not isinstance(payload, dict) and isinstance(payload, BaseModel):
            payload = payload.model_dump(mode="json")
        try:
            request = self.request.model_validate(payload)
        except ValidationError as refused:
            first = refused.errors()[0]
            inner = first.get("ctx", {}).get("field")  # from a validator that looks into its fields
            field = ".".join(["payload", *(str(part) for part in first["loc"]), *([inner] if inner else [])])
            raise InvalidPayload(f"{field}: {first['msg']}", field) from None
        stored: dict[str, Any] = request.model_dump(mode="json")
        try:
            jsonsafe.check(stored)
        except jsonsafe.UnsafeJson as unsafe:
            field = f"payload.{unsafe.path}" if unsafe.path else "payload"
            raise InvalidPayload(f"payload: {unsafe}", field) from None
        return request, stored

    def ask_gates(self, request: BaseModel) -> list[Gate]:
        """Returns the gates that the actor names for a request."""
        return list(self.gates(request)) if self.gates else []


_actors: dict[str, ActorSpec] = {}


def register(spec: ActorSpec) -> None:
    _actors[spec.name] = spec


def get(name: str) -> ActorSpec:
    try:
        return _actors[name]
    except KeyError:
        raise UnknownActor(name, _actors) from None


def is_async(name: str) -> bool:
    """Returns False for an actor that this process does not know."""
    spec = _actors.get(name)
    return spec is not None and spec.is_async


def list_queues() -> list[str]:
    return sorted({spec.queue for spec in _actors.values()})


def list_names() -> list[str]:
    return sorted(_actors)


def list_actors() -> list[ActorSpec]:
    return sorted(_actors.values(), key=lambda spec: spec.name)


def load_actors() -> None:
    """Imports every module that declares actors, which registers them."""
    for module in get_settings().actors:
        importlib.import_module(module)
