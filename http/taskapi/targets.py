"""Targets: what stands in line for one, and letting it go on where a task holds the others up."""

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.ids import is_task_id
from state.tasks.targets import clear_job, list_target_tasks, resume_job
from taskapi import cursors
from taskapi.requests import TargetQuery, TenantQuery, parse_query, target_of, task_id_of
from taskapi.threads import call
from taskapi.views import TargetView, TaskView, answer


async def get_target(request: Request) -> Response:
    target, query = target_of(request), parse_query(request, TargetQuery)
    after = None if query.cursor is None else cursors.decode(query.cursor, is_task_id)
    tasks = await call(
        request, list_target_tasks, target, tenant=query.tenant, after=after, limit=query.limit + 1
    )  # one more than asked for: is there a next page?
    items = [TaskView.of(task) for task in tasks[: query.limit]]
    cursor = cursors.encode(items[-1].task_id) if len(tasks) > len(items) else None
    return answer(TargetView(target=target, tenant=query.tenant, items=items, next_cursor=cursor))


async def post_resume(request: Request) -> Response:
    tenant = parse_query(request, TenantQuery).tenant
    task = await call(request, resume_job, target_of(request), task_id_of(request), tenant=tenant)
    return answer(TaskView.of(task))


async def post_clear(request: Request) -> Response:
    tenant = parse_query(request, TenantQuery).tenant
    task = await call(request, clear_job, target_of(request), task_id_of(request), tenant=tenant)
    return answer(TaskView.of(task), 200 if task.status == "canceled" else 202)
