"""Schedules: tasks that start again and again, and what became of each tick."""

from datetime import UTC
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from state.errors import InvalidPayload, ScheduleNotFound
from state.schedules.changes import change_schedule, create_schedule, delete_schedule, pause_schedule, resume_schedule
from state.schedules.definition import MOST_JITTER, CatchUp, Overlap
from state.schedules.reads import (
    Schedule,
    ScheduleRun,
    TickPreview,
    get_schedule,
    list_runs,
    list_schedules,
    preview_ticks,
)
from state.schedules.starts import start_schedule
from state.tasks.ids import is_schedule_id
from taskapi.api.bodies import read_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import is_position, parse_query
from taskapi.api.priorities import Priority
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb

_CRON = "minute hour day-of-month month day-of-week, or an alias such as @daily; on the wall clock of `timezone`"
_CATCH_UP = "What becomes of ticks for which no maintainer was there: none starts, one for all, or each (up to 100)."
_OVERLAP = "Whether a tick starts a task although the last one has not ended."
_JITTER = "A task starts up to so many seconds after its tick; how many follows from the tick."


class ScheduleOptions(BaseModel):
    """Null stands for what the actor declares."""

    model_config = ConfigDict(strict=True, extra="forbid")

    queue: str | None = Field(None, min_length=1, max_length=200)
    priority: Priority | None = Field(None, description="0 (critical) to 3 (low), or the name.")
    max_attempts: int | None = Field(None, ge=1, le=1000)
    target: str | None = Field(None, min_length=1, max_length=200, description="Its tasks run one after the other.")


class NewScheduleBody(ScheduleOptions):
    name: str = Field(min_length=1, max_length=200, description="Unique within the tenant.")
    cron: str = Field(min_length=1, max_length=200, description=_CRON, examples=["30 6 * * 1-5"])
    timezone: str = Field("UTC", min_length=1, max_length=100, description="An IANA name, such as Europe/Berlin.")
    actor: str = Field(min_length=1, max_length=200, description="See GET /api/v1/actors.")
    payload: dict[str, Any] = Field(default_factory=dict)
    tenant: str | None = Field(None, min_length=1, max_length=200)
    catch_up: CatchUp = Field("one", description=_CATCH_UP)
    overlap: Overlap = Field("allow", description=_OVERLAP)
    jitter_seconds: int = Field(0, ge=0, le=MOST_JITTER, description=_JITTER)
    paused: bool = False


class ScheduleChanges(ScheduleOptions):
    """Fields that are not given stay as they are."""

    name: str = Field(default_factory=str, min_length=1, max_length=200)
    cron: str = Field(default_factory=str, min_length=1, max_length=200, description=_CRON)
    timezone: str = Field(default_factory=str, min_length=1, max_length=100)
    actor: str = Field(default_factory=str, min_length=1, max_length=200)
    payload: dict[str, Any] = Field(default_factory=dict)
    catch_up: CatchUp = Field(default_factory=lambda: "one", description=_CATCH_UP)
    overlap: Overlap = Field(default_factory=lambda: "allow", description=_OVERLAP)
    jitter_seconds: int = Field(default_factory=int, ge=0, le=MOST_JITTER, description=_JITTER)

    def get_changes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class ScheduleLinks(BaseModel):
    self: str
    runs: str
    run: str
    pause: str
    resume: str

    @classmethod
    def of(cls, schedule_id: str) -> "ScheduleLinks":
        here = f"{PREFIX}/schedules/{schedule_id}"
        return cls.model_validate(
            {"self": here, **{name: f"{here}/{name}" for name in cls.model_fields if name != "self"}}
        )


class ScheduleView(Schedule):
    """`next_at` is null while the schedule is paused; `next_ticks` are the next five; `runs` counts its history.
    `last_task_id`, `last_task_status` and `last_task_at` are about the task that it has started last."""

    links: ScheduleLinks

    @classmethod
    def of(cls, schedule: Schedule) -> "ScheduleView":
        known = convert_to_utc(schedule.__dict__)
        known["next_ticks"] = [tick.astimezone(UTC) for tick in schedule.next_ticks]
        return cls.model_construct(**known, links=ScheduleLinks.of(schedule.schedule_id))


class RunLinks(BaseModel):
    task: str | None


class ScheduleRunView(ScheduleRun):
    """`tick` is null for a run that somebody has asked for. `missed`: earlier ticks without a run of their own."""

    links: RunLinks

    @classmethod
    def of(cls, run: ScheduleRun) -> "ScheduleRunView":
        task = None if run.task_id is None else f"{PREFIX}/tasks/{run.task_id}"
        return cls.model_construct(**convert_to_utc(run.__dict__), links=RunLinks(task=task))


class ScheduleQuery(PageQuery):
    tenant: str | None = Field(None, min_length=1, max_length=200)


class PreviewQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    cron: str = Field(min_length=1, max_length=200, description=_CRON, examples=["30 6 * * 1-5"])
    timezone: str = Field("UTC", min_length=1, max_length=100, description="An IANA name, such as Europe/Berlin.")


def parse_schedule_id(request: Request) -> str:
    schedule_id: str = request.path_params["schedule_id"]
    if not is_schedule_id(schedule_id):
        raise ScheduleNotFound(schedule_id)
    return schedule_id


async def post_schedule(request: Request) -> Response:
    body = await read_body(request, NewScheduleBody)
    fields = {name: getattr(body, name) for name in NewScheduleBody.model_fields}
    view = ScheduleView.of(await run_verb(request, create_schedule, **fields))
    return send_json(view, 201, {"Location": view.links.self})


async def get_list(request: Request) -> Response:
    query = parse_query(request, ScheduleQuery)

    async def read(position: str | None, limit: int) -> list[Schedule]:
        return await run_verb(request, list_schedules, tenant=query.tenant, before=position, limit=limit)

    listing = Listing(read, ScheduleView.of, lambda schedule: schedule.schedule_id, is_schedule_id)
    return await send_page(query, listing)


async def get_preview(request: Request) -> Response:
    query = parse_query(request, PreviewQuery)
    try:
        preview = await run_in_threadpool(preview_ticks, query.cron, query.timezone)
    except InvalidPayload as wrong:  # names a field of a schedule; here it is a parameter
        message = str(wrong).removeprefix(f"{wrong.field}: ")
        raise Problem.at_field("invalid-parameter", wrong.field, message) from None
    ticks = [tick.astimezone(UTC) for tick in preview.next_ticks]
    return send_json(preview.model_copy(update={"next_ticks": ticks}))


async def get_one(request: Request) -> Response:
    return send_json(ScheduleView.of(await run_verb(request, get_schedule, parse_schedule_id(request))))


async def patch_one(request: Request) -> Response:
    schedule_id = parse_schedule_id(request)
    body = await read_body(request, ScheduleChanges)
    return send_json(ScheduleView.of(await run_verb(request, change_schedule, schedule_id, **body.get_changes())))


async def delete_one(request: Request) -> Response:
    await run_verb(request, delete_schedule, parse_schedule_id(request))
    return Response(status_code=204)


async def post_pause(request: Request) -> Response:
    return send_json(ScheduleView.of(await run_verb(request, pause_schedule, parse_schedule_id(request))))


async def post_resume(request: Request) -> Response:
    return send_json(ScheduleView.of(await run_verb(request, resume_schedule, parse_schedule_id(request))))


async def post_run(request: Request) -> Response:
    run = ScheduleRunView.of(await run_verb(request, start_schedule, parse_schedule_id(request)))
    return send_json(run, 202, {"Location": run.links.task or ""})


async def get_runs(request: Request) -> Response:
    schedule_id = parse_schedule_id(request)
    query = parse_query(request, PageQuery)

    async def read(position: str | None, limit: int) -> list[ScheduleRun]:
        before = None if position is None else int(position)
        return await run_verb(request, list_runs, schedule_id, before=before, limit=limit)

    return await send_page(query, Listing(read, ScheduleRunView.of, lambda run: str(run.n), is_position))


_ONE = f"{PREFIX}/schedules/{{schedule_id}}"

OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/schedules",
        post_schedule,
        "Create a schedule, which starts a task at each of its ticks",
        {201: ScheduleView},
        body=NewScheduleBody,
        sends=("Location",),
        problems=("unknown-actor", "schedule-exists", *BODY_PROBLEMS),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/schedules",
        get_list,
        "List schedules, newest first",
        {200: Page[ScheduleView]},
        query=ScheduleQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/schedules/preview",
        get_preview,
        "Say what a cron expression means, and when it is due next",
        {200: TickPreview},
        query=PreviewQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="any",
    ),
    Operation(
        "GET",
        _ONE,
        get_one,
        "Show a schedule, with its next ticks",
        {200: ScheduleView},
        problems=("schedule-not-found",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "PATCH",
        _ONE,
        patch_one,
        "Change a schedule; with another expression or zone it goes on with the next tick from now",
        {200: ScheduleView},
        body=ScheduleChanges,
        problems=("schedule-not-found", "unknown-actor", "schedule-exists", *BODY_PROBLEMS),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "DELETE",
        _ONE,
        delete_one,
        "Delete a schedule; its history and its tasks stay",
        {204: None},
        problems=("schedule-not-found",),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_ONE}/pause",
        post_pause,
        "Pause a schedule: its ticks start nothing, and are not made up for",
        {200: ScheduleView},
        problems=("schedule-not-found",),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_ONE}/resume",
        post_resume,
        "Let a paused schedule go on with the next tick from now",
        {200: ScheduleView},
        problems=("schedule-not-found",),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{_ONE}/run",
        post_run,
        "Start a task of the schedule now, beside its ticks",
        {202: ScheduleRunView},
        sends=("Location",),
        problems=("schedule-not-found", "unknown-actor", "schedule-busy", "invalid-input"),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{_ONE}/runs",
        get_runs,
        "List what became of the ticks of a schedule, newest first",
        {200: Page[ScheduleRunView]},
        query=PageQuery,
        problems=("schedule-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
