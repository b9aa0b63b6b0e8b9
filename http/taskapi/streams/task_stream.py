"""GET /tasks/{id}/stream: the events of a task as they are written, from any position, each exactly once."""

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import EVENT_KINDS, Event
from state.tasks.reads import get_task, get_tasks_of_many
from state.transitions import FINISHED
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import parse_task_id
from taskapi.resources.tasks import TaskView
from taskapi.streams.following import StreamQuery, follow
from taskapi.streams.sse import MEDIA_TYPE
from taskapi.streams.subject import Subject


def _may_end(event: Event) -> bool | None:
    return event.data.get("to") in FINISHED if event.kind == "status" else None


TASK = Subject("task", get_task, get_tasks_of_many, TaskView.of, _may_end)


async def get_stream(request: Request) -> Response:
    return await follow(request, TASK, parse_task_id(request))


_KINDS = "\n".join(f"- `{kind}`: {text}" for kind, text in EVENT_KINDS.items())

OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/stream",
        get_stream,
        "Follow a task: a snapshot, then its events as they are written, then `done`; 204 after that",
        {200: MEDIA_TYPE, 204: None},
        description=f"Kinds of events; an actor may emit further kinds of its own:\n\n{_KINDS}",
        query=StreamQuery,
        by_token=True,
        headers=("Last-Event-ID",),
        problems=("task-not-found", "invalid-parameter"),
        older_paths=("/api/task/{task_id}/stream",),
        role="reader",
        scope="tenant",
    ),
]
