"""Actors: the list of the kinds of work."""

from typing import Any

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks import catalog
from state.tasks.catalog import ActorSpec, Role
from taskapi.api.bodies import send_json
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Page


class PolicyView(BaseModel):
    """Seconds to wait before the next attempt, by error type; the last value of a schedule repeats."""

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
    role: Role = Field(description="The role that a caller needs.")
    created_by: str | None = Field(description="What creates its tasks, if callers cannot submit them.")
    gates: list[str] = Field(description="The gates that do not depend on the payload; a task may have others.")

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
            role=spec.role,
            created_by=spec.created_by,
            gates=[gate.key for gate in spec.known_gates()] if spec.known_gates else [],
        )


async def get_list(_: Request) -> Response:
    return send_json(Page[ActorView](items=[ActorView.of(spec) for spec in catalog.list_actors()]))


OPERATIONS = [
    Operation(
        "GET", f"{PREFIX}/actors", get_list, "List the actors", {200: Page[ActorView]}, role="reader", scope="any"
    ),
]
