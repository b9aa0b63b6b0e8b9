"""Queues: their depths, pausing and resuming them."""

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks import catalog
from state.tasks.queues import RESERVED, get_queue_status, pause_queue, resume_queue
from state.transitions import Status
from taskapi.api.bodies import send_json
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb


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
    states: dict[Status, int] = Field(description="The number of tasks in each of the eight statuses, zeros included.")
    retry_ratio: float = Field(description="The share of starts that the retry lane gets now.")
    by_queue: list[QueueDepths]


class QueueSwitch(BaseModel):
    """A queue that was paused or resumed, and its gate."""

    queue: str
    gate: str
    paused: bool


async def get_status(request: Request) -> Response:
    return send_json(QueuesStatus.model_validate(await run_verb(request, get_queue_status)))


async def post_pause(request: Request) -> Response:
    name = _parse_queue(request)
    gate = await run_verb(request, pause_queue, name)
    return send_json(QueueSwitch(queue=name, gate=gate["key"], paused=gate["paused"]))


async def post_resume(request: Request) -> Response:
    name = _parse_queue(request)
    gate = await run_verb(request, resume_queue, name)
    return send_json(QueueSwitch(queue=name, gate=gate["key"], paused=gate["paused"]))


def _parse_queue(request: Request) -> str:
    name: str = request.path_params["name"]
    known = [queue for queue in catalog.list_queues() if queue not in RESERVED]
    if name not in known:
        raise Problem("unknown-queue", f"There is no queue {name!r}.", {"known": known})
    return name


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/queues/status",
        get_status,
        "Count the tasks by queue, lane and status",
        {200: QueuesStatus},
        role="operator",
        scope="all",
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/{{name}}/pause",
        post_pause,
        "Pause a queue: no more of its tasks start",
        {200: QueueSwitch},
        problems=("unknown-queue",),
        role="operator",
        scope="all",
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/{{name}}/resume",
        post_resume,
        "Resume a queue: its tasks start again",
        {200: QueueSwitch},
        problems=("unknown-queue",),
        role="operator",
        scope="all",
    ),
]
