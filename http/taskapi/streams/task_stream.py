"""GET /tasks/{id}/stream: the events of a task as they are written, from any position, each exactly once."""

from collections.abc import AsyncGenerator

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import EVENT_KINDS, get_events
from state.tasks.reads import Task, get_task
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import Position, is_position, parse_query, parse_task_id
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.streams.feed import PAGE, Feed
from taskapi.streams.sse import (
    HEADERS,
    KEEP_ALIVE,
    MEDIA_TYPE,
    RETRY,
    FrameResponse,
    encode_done,
    encode_event,
    encode_snapshot,
    send_headers,
)


class StreamQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    after: Position | None = Field(None, description="Like the header Last-Event-ID, which overrides it.")


async def get_stream(request: Request) -> Response:
    query = parse_query(request, StreamQuery)
    last_event_id = _parse_last_event_id(request)  # overrides the query: EventSource reconnects with its first URL
    position = query.after if last_event_id is None else last_event_id
    task = await run_verb(request, get_task, parse_task_id(request))
    if position is not None and task.finished and position >= task.last_event:
        return Response(status_code=204, headers=HEADERS)  # tells EventSource to stop
    if request.method == "HEAD":
        return send_headers()
    feed: Feed = request.app.state.feed
    return FrameResponse(_generate_frames(request, feed, task, position), feed.pace.patience)


def _parse_last_event_id(request: Request) -> int | None:
    value = request.headers.get("last-event-id")
    if not value:
        return None
    if not is_position(value):
        raise Problem.at_field("invalid-parameter", "Last-Event-ID", "must be the id of an event of this stream")
    return int(value)


async def _generate_frames(
    request: Request, feed: Feed, task: Task, position: int | None
) -> AsyncGenerator[bytes, None]:
    yield RETRY
    if position is None:
        yield encode_snapshot(task)
        position = task.last_event
    if task.finished and position >= task.last_event:
        yield encode_done(task)
        return
    may_be_over = task.finished
    behind = task.last_event - position > PAGE
    while True:
        # A long backlog is read here, at the client's speed: the feed serves all streams and waits for none.
        while behind and not feed.closed:
            events = await run_verb(request, get_events, task.task_id, position, PAGE)
            for frame in map(encode_event, events):
                yield frame.text
                position = frame.n
                may_be_over = may_be_over if frame.finishes is None else frame.finishes
            behind = len(events) == PAGE
        with feed.subscribe(task.task_id, position, may_be_over) as subscription:
            while (text := await subscription.take(feed.pace.keep_alive)) is not None:
                yield text or KEEP_ALIVE
        if not subscription.full:
            return
        position, may_be_over, behind = subscription.position, subscription.may_be_over, True


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
        headers=("Last-Event-ID",),
        problems=("task-not-found", "invalid-parameter"),
        older_paths=("/api/task/{task_id}/stream",),
    ),
]
