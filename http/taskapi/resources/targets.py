"""Targets: the unfinished tasks of a target, and the verbs for a task that blocks the others."""

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.reads import Task
from state.tasks.targets import clear_job, list_target_tasks, resume_job
from taskapi.api.bodies import send_json
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Page, PageQuery
from taskapi.api.parameters import TenantQuery, parse_query, parse_task_id
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import TaskView, send_tasks


class TargetView(Page[TaskView]):
    """A target's unfinished tasks, oldest first."""

    target: str
    tenant: str | None


class TargetQuery(PageQuery, TenantQuery):
    """The tenant is a part of a target's identity."""


async def get_one(request: Request) -> Response:
    target, query = _parse_target(request), parse_query(request, TargetQuery)

    async def read(after: str | None, limit: int) -> list[Task]:
        return await run_verb(request, list_target_tasks, target, tenant=query.tenant, after=after, limit=limit)

    return await send_tasks(query, read, target=target, tenant=query.tenant)


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
        f"{PREFIX}/targets/{{target:path}}",
        get_one,
        "List a target's unfinished tasks in order of arrival",
        {200: TargetView},
        query=TargetQuery,
        problems=("invalid-parameter",),
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
