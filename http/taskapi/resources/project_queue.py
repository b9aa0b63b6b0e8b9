"""The queues of projects: starting and stopping them, their state, their runs and their history."""

import asyncio
import time
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.projects.queue import (
    FORCE_SECONDS,
    POLL,
    Outcome,
    begin_force_stop,
    look_after_force_stop,
    start_many,
    start_run,
    stop,
    stop_many,
)
from state.projects.reads import Mode, QueueState, Run, Statistics, get_project, get_statistics, list_runs
from state.tasks.ids import is_task_id
from taskapi.api.bodies import read_body, read_optional_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.priorities import Priority
from taskapi.api.problems import to_problem
from taskapi.api.verbs import run_verb
from taskapi.resources.projects import in_utc, parse_project_id
from taskapi.resources.tasks import EventQuery, EventView, Links, send_events

_MOST_PROJECTS = 100
_PRIORITY = Field(
    None, description="Of the run, and of those that follow in a loop. Unset: that of the item which is next."
)


class RunBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    mode: Mode = Field("single", description="single: one item. loop: one after the other, until none is pending.")
    item_id: str | None = Field(None, min_length=1, max_length=200, description="The item to begin with.")
    priority: Priority | None = _PRIORITY


class RunStarted(BaseModel):
    """`run_id` is also the id of the run's task."""

    project_id: str
    run_id: str
    queue_state: QueueState
    links: Links = Field(description="Of the run's task.")


class Stopped(BaseModel):
    success: bool


class StillRunningView(BaseModel):
    """A part of a run that has not ended: a sandbox, or with `sandbox_id` null the run's own code."""

    run_id: str
    sandbox_id: str | None
    pids: list[int]
    host: str | None


class ForceStopped(BaseModel):
    """`success` means that nothing is still running."""

    success: bool
    killed_runs: list[str]
    still_running: list[StillRunningView]


class BatchBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    project_ids: list[str] = Field(min_length=1, max_length=_MOST_PROJECTS)


class BatchRunBody(BatchBody):
    mode: Mode = "single"
    priority: Priority | None = _PRIORITY


class BatchOutcome(BaseModel):
    """What became of one project. `error` is the token of a problem."""

    project_id: str
    success: bool
    run_id: str | None
    error: str | None
    detail: str | None

    @classmethod
    def of(cls, outcome: Outcome) -> "BatchOutcome":
        problem = None if outcome.error is None else to_problem(outcome.error)
        return cls(
            project_id=outcome.project_id,
            success=problem is None,
            run_id=outcome.run_id if problem is None else problem.members.get("task_id"),
            error=problem and problem.token,
            detail=problem and problem.detail,
        )


async def post_run(request: Request) -> Response:
    project_id = parse_project_id(request)
    body = await read_optional_body(request, RunBody)
    run_id = await run_verb(request, start_run, project_id, body.mode, item_id=body.item_id, priority=body.priority)
    project = await run_verb(request, get_project, project_id)
    links = Links.of(run_id)
    state = in_utc(project.queue_state)
    started = RunStarted(project_id=project_id, run_id=run_id, queue_state=state, links=links)
    return send_json(started, 202, {"Location": links.self})


async def post_stop(request: Request) -> Response:
    await run_verb(request, stop, parse_project_id(request))
    return send_json(Stopped(success=True))


async def post_force_stop(request: Request) -> Response:
    """Waits without a thread: many at once, such as in an outage of the workers, leave the others theirs."""
    project_id = parse_project_id(request)
    run_id = await run_verb(request, begin_force_stop, project_id)
    deadline = time.monotonic() + FORCE_SECONDS
    while True:
        done = await run_verb(request, look_after_force_stop, project_id, run_id)
        if done.success or time.monotonic() >= deadline:
            break
        await asyncio.sleep(POLL)
    left = [
        StillRunningView(run_id=e.run_id, sandbox_id=e.sandbox_id, pids=e.pids, host=e.host) for e in done.still_running
    ]
    return send_json(ForceStopped(success=done.success, killed_runs=done.killed_runs, still_running=left))


async def get_status(request: Request) -> Response:
    project = await run_verb(request, get_project, parse_project_id(request))
    return send_json(in_utc(project.queue_state))


async def get_runs(request: Request) -> Response:
    project_id = parse_project_id(request)

    async def read(before: str | None, limit: int) -> list[Run]:
        return await run_verb(request, list_runs, project_id, before=before, limit=limit)

    listing = Listing(read, in_utc, lambda run: run.run_id, is_task_id)
    return await send_page(parse_query(request, PageQuery), listing)


async def get_history(request: Request) -> Response:
    return await send_events(request, get_project, parse_project_id(request))


async def get_queue_statistics(request: Request) -> Response:
    return send_json(in_utc(await run_verb(request, get_statistics, parse_project_id(request))))


async def post_batch_run(request: Request) -> Response:
    body = await read_body(request, BatchRunBody)
    return _send_outcomes(await run_verb(request, start_many, body.project_ids, body.mode, priority=body.priority))


async def post_batch_stop(request: Request) -> Response:
    body = await read_body(request, BatchBody)
    return _send_outcomes(await run_verb(request, stop_many, body.project_ids))


def _send_outcomes(outcomes: Sequence[Outcome]) -> Response:
    return send_json(Page[BatchOutcome](items=[BatchOutcome.of(each) for each in outcomes]))


_HERE = f"{PREFIX}/projects/{{project_id}}"

OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/projects/batch/run",
        post_batch_run,
        "Start the queues of several projects; the answer has an outcome for each, in order",
        {200: Page[BatchOutcome]},
        body=BatchRunBody,
        problems=BODY_PROBLEMS,
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/projects/batch/stop",
        post_batch_stop,
        "Stop the queues of several projects after their current items",
        {200: Page[BatchOutcome]},
        body=BatchBody,
        problems=BODY_PROBLEMS,
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_HERE}/run",
        post_run,
        "Start the queue of a project; 409 while it runs",
        {202: RunStarted},
        sends=("Location",),
        body=RunBody,
        problems=("project-not-found", "item-not-found", "queue-already-running", "illegal-transition", *BODY_PROBLEMS),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_HERE}/queue/stop",
        post_stop,
        "Stop the queue of a project after its current item",
        {200: Stopped},
        problems=("project-not-found",),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_HERE}/queue/force-stop",
        post_force_stop,
        "Interrupt the run of a project, kill its sandboxes, and say what is still running",
        {200: ForceStopped},
        problems=("project-not-found",),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{_HERE}/queue/statistics",
        get_queue_statistics,
        "Count the runs of a project, their durations, and why its queue has stopped",
        {200: Statistics},
        problems=("project-not-found",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{_HERE}/queue/status",
        get_status,
        "Show the state of a project's queue",
        {200: QueueState},
        problems=("project-not-found",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{_HERE}/runs",
        get_runs,
        "List the runs of a project, newest first, with how long each took and why the queue stopped",
        {200: Page[Run]},
        query=PageQuery,
        problems=("project-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{_HERE}/events",
        get_history,
        "List the events of a project's history",
        {200: Page[EventView]},
        query=EventQuery,
        problems=("project-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
