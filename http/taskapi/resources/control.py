"""Control of tasks: cancel, pause, resume, retry, dismiss, delete, and the search for orphaned tasks."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.maintenance.orphans import Recovered, requeue_orphaned
from state.tasks.control import cancel, delete, pause, resume
from state.tasks.deadletters import dismiss, retry
from taskapi.api.bodies import read_optional_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, OPTIONAL_BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.parameters import parse_task_id
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import TaskView

_MAX_LISTED = 100


class CancelBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    force: bool = Field(False, description="Kills and replaces the process if the task's code does not stop.")


class RetryBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    payload: dict[str, Any] | None = Field(
        None, description="Replaces the original payload, which stays in the history."
    )


class MovedTask(BaseModel):
    task_id: str
    actor: str | None
    queue: str
    status: str


class Found(BaseModel):
    count: int
    tasks: list[MovedTask] = Field(description=f"The first {_MAX_LISTED} of them.")

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]]) -> "Found":
        listed = [
            MovedTask(task_id=row["id"], actor=row.get("actor"), queue=row["queue"], status=row.get("status", "queued"))
            for row in rows[:_MAX_LISTED]
        ]
        return cls(count=len(rows), tasks=listed)


class RecoveredView(BaseModel):
    """The tasks that the sweep has moved: `lost` had a worker that is gone, `expired` were too old, `due` had reached
    their time, and `woken` had missed a wake-up."""

    lost: Found
    expired: Found
    due: Found
    woken: Found
    dead_workers: list[str]

    @classmethod
    def of(cls, found: Recovered) -> "RecoveredView":
        kinds = {name: Found.of(getattr(found, name)) for name in ("lost", "expired", "due", "woken")}
        return cls(**kinds, dead_workers=found.dead_workers)


async def post_cancel(request: Request) -> Response:
    task_id = parse_task_id(request)
    body = await read_optional_body(request, CancelBody)
    task = await run_verb(request, cancel, task_id, force=body.force)
    return send_json(TaskView.of(task), 200 if task.status == "canceled" else 202)


async def post_pause(request: Request) -> Response:
    task = await run_verb(request, pause, parse_task_id(request))
    return send_json(TaskView.of(task), 202 if task.status == "running" else 200)


async def post_resume(request: Request) -> Response:
    return send_json(TaskView.of(await run_verb(request, resume, parse_task_id(request))))


async def post_retry(request: Request) -> Response:
    task_id = parse_task_id(request)
    body = await read_optional_body(request, RetryBody, large=True)
    return send_json(TaskView.of(await run_verb(request, retry, task_id, body.payload)))


async def post_dismiss(request: Request) -> Response:
    return send_json(TaskView.of(await run_verb(request, dismiss, parse_task_id(request))))


async def delete_one(request: Request) -> Response:
    await run_verb(request, delete, parse_task_id(request))
    return Response(status_code=204)


async def post_requeue_orphaned(request: Request) -> Response:
    return send_json(RecoveredView.of(await run_verb(request, requeue_orphaned)))


OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/cancel",
        post_cancel,
        "Cancel a task: 200 if it is canceled, 202 if its worker must stop first",
        {200: TaskView, 202: TaskView},
        body=CancelBody,
        problems=("task-not-found", "illegal-transition", *OPTIONAL_BODY_PROBLEMS),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/requeue-orphaned",
        post_requeue_orphaned,
        "Look now for tasks whose worker is gone, and list the tasks that were moved",
        {200: RecoveredView},
        role="operator",
        scope="all",
    ),
    Operation(
        "DELETE",
        f"{PREFIX}/tasks/{{task_id}}",
        delete_one,
        "Hide a finished task; its history is kept",
        {204: None},
        problems=("task-not-found", "illegal-transition"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/pause",
        post_pause,
        "Pause a task: 200 if it is paused, 202 if its worker must stop first",
        {200: TaskView, 202: TaskView},
        problems=("task-not-found", "illegal-transition"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/resume",
        post_resume,
        "Resume a paused or dead task from its last checkpoint",
        {200: TaskView},
        problems=("task-not-found", "illegal-transition", "queue-already-running", "dedup-key-taken"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/retry",
        post_retry,
        "Run a dead task, or a task that waits for its retry, again now; optionally with another payload",
        {200: TaskView},
        body=RetryBody,
        problems=(
            "task-not-found",
            "illegal-transition",
            "queue-already-running",
            "dedup-key-taken",
            "unknown-actor",
            *BODY_PROBLEMS,
        ),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/dismiss",
        post_dismiss,
        "Dismiss a dead task: it is canceled",
        {200: TaskView},
        problems=("task-not-found", "illegal-transition"),
        role="submitter",
        scope="tenant",
    ),
]
