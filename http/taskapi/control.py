"""What people ask of a task: pause, resume, retry, dismiss, delete; and that orphans be looked for now."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.maintenance.orphans import Recovered, requeue_orphaned
from state.tasks.control import delete, pause, resume
from state.tasks.deadletters import dismiss, retry
from taskapi.bodies import parse_body, read_body
from taskapi.requests import task_id_of
from taskapi.threads import call
from taskapi.views import TaskView, answer

_SHOWN = 100


class RetryBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    payload: dict[str, Any] | None = Field(None, description="Instead of the original, which stays in the history.")


class MovedTask(BaseModel):
    task_id: str
    actor: str | None
    queue: str
    status: str


class Found(BaseModel):
    count: int
    tasks: list[MovedTask] = Field(description=f"The first {_SHOWN} of them.")

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]]) -> "Found":
        shown = [
            MovedTask(task_id=row["id"], actor=row.get("actor"), queue=row["queue"], status=row.get("status", "queued"))
            for row in rows[:_SHOWN]
        ]
        return cls(count=len(rows), tasks=shown)


class RecoveredView(BaseModel):
    """What the sweep found: tasks whose worker is gone, that were too old, that were due, that had missed a wake-up."""

    lost: Found
    expired: Found
    due: Found
    woken: Found
    dead_workers: list[str]

    @classmethod
    def of(cls, found: Recovered) -> "RecoveredView":
        kinds = {name: Found.of(getattr(found, name)) for name in ("lost", "expired", "due", "woken")}
        return cls(**kinds, dead_workers=found.dead_workers)


async def post_pause(request: Request) -> Response:
    task = await call(request, pause, task_id_of(request))
    return answer(TaskView.of(task), 202 if task.status == "running" else 200)


async def post_resume(request: Request) -> Response:
    return answer(TaskView.of(await call(request, resume, task_id_of(request))))


async def post_retry(request: Request) -> Response:
    task_id = task_id_of(request)
    raw = await read_body(request)
    body = parse_body(raw, RetryBody) if raw.strip() else RetryBody(payload=None)
    return answer(TaskView.of(await call(request, retry, task_id, body.payload)))


async def post_dismiss(request: Request) -> Response:
    return answer(TaskView.of(await call(request, dismiss, task_id_of(request))))


async def delete_one(request: Request) -> Response:
    await call(request, delete, task_id_of(request))
    return Response(status_code=204)


async def post_requeue_orphaned(request: Request) -> Response:
    return answer(RecoveredView.of(await call(request, requeue_orphaned)))
