"""What every process knows of each actor. The `@task` decorator enters it; HTTP and the orchestrator read it."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from state import jsonsafe
from state.errors import InvalidPayload, UnknownActor
from state.gates import Gate
from state.settings import get_settings


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds to wait before the next attempt, by error type; the last one of a schedule repeats."""

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
    gates: Callable[[Any], Iterable[Gate]] | None = None  # asked with each request
    known_gates: Callable[[], Iterable[Gate]] | None = None  # entered at boot, before any task has come

    def validate(self, payload: Any) -> dict[str, Any]:
        """The payload as it will be stored; raises InvalidPayload with the field's name."""
        if not isinstance(payload, dict) and isinstance(payload, BaseModel):
            payload = payload.model_dump(mode="json")
        try:
            request = self.request.model_validate(payload)
        except ValidationError as refused:
            first = refused.errors()[0]
            deeper = first.get("ctx", {}).get("field")  # from a validator that looks into its fields
            where = ".".join(["payload", *(str(part) for part in first["loc"]), *([deeper] if deeper else [])])
            raise InvalidPayload(f"{where}: {first['msg']}", where) from None
        stored: dict[str, Any] = request.model_dump(mode="json")
        try:
            jsonsafe.check(stored)
        except jsonsafe.UnsafeJson as unsafe:
            where = f"payload.{unsafe.path}" if unsafe.path else "payload"
            raise InvalidPayload(f"payload: {unsafe}", where) from None
        return stored

    def gates_of(self, stored: dict[str, Any]) -> list[Gate]:
        """What the actor says of a payload that it has accepted."""
        return list(self.gates(self.request.model_validate(stored))) if self.gates else []


_actors: dict[str, ActorSpec] = {}


def enter(spec: ActorSpec) -> None:
    _actors[spec.name] = spec


def get(name: str) -> ActorSpec:
    try:
        return _actors[name]
    except KeyError:
        raise UnknownActor(name, _actors) from None


def queues() -> list[str]:
    return sorted({spec.queue for spec in _actors.values()})


def names() -> list[str]:
    return sorted(_actors)


def actors() -> list[ActorSpec]:
    return sorted(_actors.values(), key=lambda spec: spec.name)


def load_actors() -> None:
    """Imports every module that declares actors; they enter themselves."""
    for module in get_settings().actors:
        importlib.import_module(module)
