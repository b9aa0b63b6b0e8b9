"""Tasks: the list, one of them, its attempts, its history, and the request to stop it."""

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.control import cancel
from state.tasks.events import Event, get_events
from state.tasks.ids import is_task_id
from state.tasks.reads import get_attempts, get_task, list_tasks
from taskapi import cursors
from taskapi.bodies import parse_body, read_body
from taskapi.requests import CancelBody, EventQuery, TaskQuery, is_position, parse_query, task_id_of
from taskapi.threads import call
from taskapi.views import AttemptView, EventView, Page, TaskView, answer


async def get_tasks(request: Request) -> Response:
    query = parse_query(request, TaskQuery)
    return await call(request, _page_of_tasks, query)


def _page_of_tasks(query: TaskQuery) -> Response:
    before = None if query.cursor is None else cursors.decode(query.cursor, is_task_id)
    filters = query.model_dump(exclude={"limit", "cursor"})
    # One more than asked for: is there a next page?
    tasks = list_tasks(before=before, limit=query.limit + 1, **filters)
    shown = tasks[: query.limit]
    more = len(tasks) > len(shown)
    items = [TaskView.of(task) for task in shown]
    return answer(Page[TaskView](items=items, next_cursor=cursors.encode(items[-1].task_id) if more else None))


async def get_one(request: Request) -> Response:
    task = await call(request, get_task, task_id_of(request))
    return answer(TaskView.of(task))


async def get_attempts_of(request: Request) -> Response:
    rows = await call(request, get_attempts, task_id_of(request))
    return answer(Page[AttemptView](items=[AttemptView.of(row) for row in rows]))


async def get_events_of(request: Request) -> Response:
    query = parse_query(request, EventQuery)
    after = query.after if query.cursor is None else int(cursors.decode(query.cursor, is_position))
    found = await call(request, _events, task_id_of(request), after, query.limit + 1)
    items = [EventView.of(event) for event in found[: query.limit]]
    more = len(found) > len(items)
    return answer(Page[EventView](items=items, next_cursor=cursors.encode(str(items[-1].n)) if more else None))


def _events(task_id: str, after: int, limit: int) -> list[Event]:
    get_task(task_id)  # an unknown task has no events either, but is no empty list
    return get_events(task_id, after, limit)


async def post_cancel(request: Request) -> Response:
    task_id = task_id_of(request)
    raw = await read_body(request)
    body = parse_body(raw, CancelBody) if raw.strip() else CancelBody()
    task = await call(request, cancel, task_id, force=body.force)
    return answer(TaskView.of(task), 200 if task.status == "canceled" else 202)
