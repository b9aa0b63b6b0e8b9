"""GET /overview: the state of everything at a glance, and what is wrong at the moment."""

from dataclasses import asdict
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.database import Row
from state.overview.reads import Overview, get_overview
from state.overview.troubles import Kind, Trouble
from state.transitions import Status
from taskapi.api.bodies import send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.verbs import run_verb
from taskapi.resources.gates import GateState
from taskapi.resources.workers import WorkerSummary

_Model = TypeVar("_Model", bound=BaseModel)


class TroubleView(BaseModel):
    kind: Kind
    title: str = Field(description="What is wrong, in a sentence.")
    detail: str = Field(description="What it costs.")
    advice: str = Field(description="What to do.")
    since: datetime | None
    ends_at: datetime | None = Field(description="When it ends by itself, or is tried again.")
    subject: str | None = Field(description="The gate, the queue or the actor.")
    tasks: int = Field(description="How many tasks it holds up.")

    @classmethod
    def of(cls, trouble: Trouble) -> "TroubleView":
        return cls.model_construct(**convert_to_utc(asdict(trouble)))


class QueueSummary(BaseModel):
    queue: str
    primary: int
    retry: int
    running: int
    oldest_seconds: float | None = Field(description="How long the oldest queued task waits.")
    paused: bool
    consumed: bool = Field(description="Whether a worker takes its tasks.")


class Places(BaseModel):
    """Of all workers that are alive."""

    threads: int
    coroutines: int


class Pace(BaseModel):
    """Of a minute, on average over the last five that are measured."""

    created: float
    completed: float
    died: float
    attempts: float = Field(description="Executions that have completed, failed or lost their worker.")
    attempts_failed: float


class Minute(BaseModel):
    minute: datetime
    created: int
    completed: int
    died: int
    attempts: int
    attempts_failed: int
    start_seconds: float | None = Field(description="From entering the queue to the last start, of completed tasks.")
    run_seconds: float | None = Field(description="From the last start to the end, of completed tasks.")


class DeadLetterGroup(BaseModel):
    """Dead letters of an actor and a type of error. The last three: of the newest of them, if it is a recent one."""

    actor: str
    error_type: str
    tasks: int
    task_id: str | None
    message: str | None
    finished_at: datetime | None


class GateSummary(BaseModel):
    key: str
    max_concurrent: int | None
    rate_count: int | None
    rate_seconds: float | None
    paused: bool
    closed_until: datetime | None
    breaker_state: Literal["closed", "open", "half_open"]
    breaker_changed_at: datetime | None = Field(description="Since when the breaker is not closed.")
    breaker_seconds: float
    running: int
    waiting: int
    state: GateState = Field(description="`open` if a task could start now, else what prevents it.")
    next_at: datetime | None = Field(description="When that ends, if it is known; an estimate if the state is `full`.")


class OverviewView(BaseModel):
    """What concerns the caller's tenant. Gates and workers are for operators without a tenant."""

    at: datetime
    troubles: list[TroubleView] = Field(description="What is wrong at the moment, the worst first.")
    states: dict[Status, int | None] = Field(
        description="The number of tasks by status. Completed and canceled ones are not counted for a tenant: null."
    )
    queues: list[QueueSummary]
    workers_alive: int
    places: Places
    per_minute: Pace
    history: list[Minute] = Field(description="The minutes of the last hour that are measured, oldest first.")
    dead_letters: list[DeadLetterGroup] = Field(description="The largest groups first.")
    gates: list[GateSummary] | None = Field(description="Those that hold tasks up, or are in use; at most twelve.")
    workers: list[WorkerSummary] | None

    @classmethod
    def of(cls, found: Overview) -> "OverviewView":
        return cls.model_construct(
            **convert_to_utc({"at": found.at}),
            troubles=[TroubleView.of(each) for each in found.troubles],
            states=found.states,
            queues=[QueueSummary.model_construct(**row) for row in found.queues],
            workers_alive=found.workers_alive,
            places=Places(**found.places),
            per_minute=Pace(**found.per_minute),
            history=[_view(Minute, row) for row in found.history],
            dead_letters=[_view(DeadLetterGroup, row) for row in found.dead_letters],
            gates=None if found.gates is None else [_view(GateSummary, row) for row in found.gates],
            workers=None if found.workers is None else [WorkerSummary.of(row) for row in found.workers],
        )


def _view(model: type[_Model], row: Row) -> _Model:
    return model.model_construct(**convert_to_utc({name: row[name] for name in model.model_fields}))


async def get_one(request: Request) -> Response:
    return send_json(OverviewView.of(await run_verb(request, get_overview)), headers={"Cache-Control": "no-store"})


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/overview",
        get_one,
        "Show the state of everything at a glance, and what is wrong at the moment",
        {200: OverviewView},
        role="reader",
        scope="tenant",
    ),
]
