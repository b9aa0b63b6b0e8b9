"""Workers: the list of worker processes, and what each runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.settings import get_settings
from state.tasks.catalog import is_async
from state.workers.registry import list_workers
from taskapi.api.bodies import send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Page
from taskapi.api.verbs import run_verb


class RunningTask(BaseModel):
    task_id: str
    actor: str
    agent_name: str | None
    place: Literal["thread", "coroutine"]
    started_at: datetime
    cancel_requested: Literal["pause", "cancel", "force"] | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "RunningTask":
        started_at = datetime.fromisoformat(row["started_at"])
        place = "coroutine" if is_async(row["actor"]) else "thread"
        return cls(**convert_to_utc({**row, "started_at": started_at}), place=place)


class WorkerBase(BaseModel):
    id: str
    host: str
    pid: int
    version: str | None = Field(description="Of Callboard.")
    queues: list[str]
    threads: int
    coroutines: int
    running: int
    threads_busy: int = Field(
        description="Running tasks of sync actors; a few more than `threads` when tasks are claimed ahead."
    )
    coroutines_busy: int
    started_at: datetime
    seen_at: datetime
    silent_seconds: float
    alive: bool
    stopping_at: datetime | None = Field(
        description="When it was asked to shut down: it finishes what it runs, and takes no more."
    )
    maintainer: bool = Field(description="Whether it does the housekeeping of the cluster.")


class WorkerSummary(WorkerBase):
    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "WorkerSummary":
        return cls.model_construct(**describe_worker(row))


class WorkerView(WorkerBase):
    tasks: list[RunningTask] = Field(description="What it runs, the oldest first; up to 200.")

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "WorkerView":
        return cls.model_construct(**describe_worker(row), tasks=[RunningTask.of(task) for task in row["tasks"]])


def describe_worker(row: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: row[name] for name in WorkerBase.model_fields if name in row}
    return {**convert_to_utc(known), "alive": row["silent_seconds"] < get_settings().lease_seconds}


async def get_list(request: Request) -> Response:
    rows = await run_verb(request, list_workers)
    return send_json(Page[WorkerView](items=[WorkerView.of(row) for row in rows]))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/workers",
        get_list,
        "List the workers, with what each runs",
        {200: Page[WorkerView]},
        role="operator",
        scope="all",
    ),
]
