"""GET /targets/{target}: what stands in line for it, and what keeps the others from starting."""

from starlette.requests import Request
from starlette.responses import Response

from state.ids import is_task_id
from state.targets import list_target_tasks
from taskapi import cursors
from taskapi.requests import TargetQuery, parse_query, target_of
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
