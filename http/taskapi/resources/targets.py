"""Targets: which there are, the unfinished tasks of one, and the verbs for a task that blocks the others."""

from dataclasses import asdict
from datetime import datetime
from urllib.parse import quote, unquote

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.reads import ListedTask
from state.tasks.targets import Target, clear_job, list_target_tasks, list_targets, resume_job
from state.transitions import Status
from taskapi.access.authorization import get_caller
from taskapi.api.bodies import send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Flag, TenantQuery, parse_query, parse_task_id
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import ListedTaskView, TaskView, send_tasks


class ListedTarget(BaseModel):
    """A target with unfinished tasks. All of them wait for one: the one that runs, or else the first that arrived."""

    target: str
    tenant: str | None
    blocked: bool = Field(description="That task is paused or dead: nothing starts before it is resumed or cleared.")
    task_id: str
    status: Status = Field(description="Of that task.")
    since: datetime = Field(description="When it got into this status.")
    waiting: int = Field(description="How many other tasks wait for it.")

    @classmethod
    def of(cls, target: Target) -> "ListedTarget":
        return cls.model_construct(**convert_to_utc(asdict(target)))


class TargetView(Page[ListedTaskView]):
    """A target's unfinished tasks, oldest first."""

    target: str
    tenant: str | None


class TargetQuery(PageQuery, TenantQuery):
    """The tenant is a part of a target's identity."""


class TargetListQuery(PageQuery, TenantQuery):
    q: str = Field("", max_length=200, description="A part of the name; upper and lower case are the same.")
    blocked: Flag | None = Field(None, description="Only targets that wait for a person, or only the others.")


async def get_list(request: Request) -> Response:
    query = parse_query(request, TargetListQuery)

    async def read(position: str | None, limit: int) -> list[Target]:
        after = None if position is None else _parse_position(position)
        return await run_verb(
            request, list_targets, q=query.q, blocked=query.blocked, tenant=query.tenant, after=after, limit=limit
        )

    return await send_page(query, Listing(read, ListedTarget.of, _make_position, _is_position))


def _make_position(target: Target) -> str:
    return _join(target.tenant or "", target.target)


def _parse_position(position: str) -> tuple[str | None, str]:
    tenant, _, target = position.partition("/")
    return unquote(tenant) or None, unquote(target)


def _is_position(text: str) -> bool:
    tenant, target = _parse_position(text)
    return _join(tenant or "", target) == text and f"{tenant}{target}".isprintable()


def _join(tenant: str, target: str) -> str:
    return f"{quote(tenant, safe='')}/{quote(target, safe='')}"


async def get_one(request: Request) -> Response:
    target, query = _parse_target(request), parse_query(request, TargetQuery)

    async def read(after: str | None, limit: int) -> list[ListedTask]:
        return await run_verb(request, list_target_tasks, target, tenant=query.tenant, after=after, limit=limit)

    tenant = query.tenant or get_caller(request).tenant
    return await send_tasks(query, read, target=target, tenant=tenant)


async def post_resume(request: Request) -> Response:
    tenant = parse_query(request, TenantQuery).tenant
    task = await run_verb(request, resume_job, _parse_target(request), parse_task_id(request), tenant=tenant)
    return send_json(TaskView.of(task))


async def post_clear(request: Request) -> Response:
    tenant = parse_query(request, TenantQuery).tenant
    task = await run_verb(request, clear_job, _parse_target(request), parse_task_id(request), tenant=tenant)
    return send_json(TaskView.of(task), 200 if task.status == "canceled" else 202)


def _parse_target(request: Request) -> str:
    target: str = request.path_params["target"]
    if not (0 < len(target) <= 200 and target.isprintable()):
        raise Problem.at_field("invalid-parameter", "target", "must be 1 to 200 printable characters")
    return target


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/targets",
        get_list,
        "List the targets with unfinished tasks, and the task of each that the others wait for",
        {200: Page[ListedTarget]},
        query=TargetListQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/targets/{{target:path}}",
        get_one,
        "List a target's unfinished tasks in order of arrival",
        {200: TargetView},
        query=TargetQuery,
        problems=("not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/targets/{{target:path}}/jobs/{{task_id}}/resume",
        post_resume,
        "Resume a paused or dead task of a target",
        {200: TaskView},
        query=TenantQuery,
        problems=("task-not-found", "illegal-transition", "dedup-key-taken", "invalid-parameter"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/targets/{{target:path}}/jobs/{{task_id}}/clear",
        post_clear,
        "Cancel a task of a target, so that the next one may start: 200 if it is canceled, 202 if its worker must "
        "stop first",
        {200: TaskView, 202: TaskView},
        query=TenantQuery,
        problems=("task-not-found", "illegal-transition", "invalid-parameter"),
        role="submitter",
        scope="tenant",
    ),
]
