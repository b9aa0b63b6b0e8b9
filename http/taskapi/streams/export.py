"""GET /tasks/export: tasks with their attempts and events, one a line, in the order of their ids."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import Event, get_events
from state.tasks.export import FIRST, Exported, read_page
from state.tasks.ids import first_task_id, is_task_id
from state.tasks.reads import Task, get_attempts, get_task
from taskapi.api.moments import Moment
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import parse_query
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import AttemptView, EventView, TaskView
from taskapi.streams.channel import Channel
from taskapi.streams.feed import Feed
from taskapi.streams.response import AnswerCut, StreamResponse
from taskapi.streams.sse import HEADERS, Piece

MEDIA_TYPE = "application/x-ndjson"
_PAGE = 200  # of attempts, or events, of a task that has many


class ExportQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    since: Moment | None = Field(None, description="Only tasks that were created then or later.")
    until: Moment | None = Field(None, description="Only tasks that were created before.")
    after: str | None = Field(None, description="Only tasks after this one: the id in the last line of an export.")
    tenant: str | None = Field(None, min_length=1, max_length=200, description="Only tasks of this tenant.")


async def get_export(request: Request) -> Response:
    query = parse_query(request, ExportQuery)
    if query.after is not None and not is_task_id(query.after):
        raise Problem.at_field("invalid-parameter", "after", "must be the id of a task")
    if request.method == "HEAD":
        return Response(headers=HEADERS, media_type=MEDIA_TYPE)
    since = "" if query.since is None else first_task_id(query.since)
    until = None if query.until is None else first_task_id(query.until)
    export = _Export(request, until, query.tenant)
    first = await export.read(max(since, query.after or ""))  # what cannot be read is a problem, not half an answer
    feed: Feed = request.app.state.feed

    async def write(channel: Channel) -> None:
        await export.write(channel, first)

    return StreamResponse(request, feed.pace, write, media_type=MEDIA_TYPE)


_Page = tuple[Sequence[Exported], str | None]


class _Export:
    """Reads a page when the client has read the one before: whoever does not read holds neither a connection to the
    database nor more than a page."""

    def __init__(self, request: Request, until: str | None, tenant: str | None) -> None:
        self._request = request
        self._until = until
        self._tenant = tenant

    async def read(self, after: str) -> _Page:
        return await run_verb(self._request, read_page, after, self._until, tenant=self._tenant)

    async def write(self, channel: Channel, page: _Page) -> None:
        feed: Feed = self._request.app.state.feed
        while True:
            exported, reached = page
            for each in exported:
                await self._write_task(channel, each)
            await channel.drain()
            if reached is None:
                return
            if feed.closed:
                raise AnswerCut  # the server stops
            page = await self.read(reached)

    async def _write_task(self, channel: Channel, each: Exported) -> None:
        """A line is written in several pieces if the task has a long history."""
        task_id = each.task.task_id
        task: Task = await run_verb(self._request, get_task, task_id) if each.task.omitted else each.task
        head, attempts, events = await run_in_threadpool(_encode, task, each)
        await channel.put(Piece(head + attempts))
        position, more = each.attempts[-1]["epoch"] if each.attempts else 0, len(each.attempts) == FIRST
        while more:
            rows = await run_verb(self._request, get_attempts, task_id, after=position, limit=_PAGE)
            ended = [row for row in rows if row["outcome"] is not None]
            if ended:
                await channel.put(Piece(b"," + _join(map(AttemptView.of, ended))))
                position = ended[-1]["epoch"]
            more = len(rows) == _PAGE
        await channel.put(Piece(b'],"events":[' + events))
        position, more = each.events[-1].n if each.events else 0, len(each.events) == FIRST
        while more:
            found = await run_verb(self._request, get_events, task_id, position, _PAGE)
            if found:
                await channel.put(Piece(b"," + await run_in_threadpool(_join_events, found)))
                position = found[-1].n
            more = len(found) == _PAGE
        await channel.put(Piece(b"]}\n"))


def _encode(task: Task, each: Exported) -> tuple[bytes, bytes, bytes]:
    text = TaskView.of(task).model_dump_json().encode()
    return text[:-1] + b',"attempts":[', _join(map(AttemptView.of, each.attempts)), _join_events(each.events)


def _join_events(events: Iterable[Event]) -> bytes:
    return _join(map(EventView.of, events))


def _join(views: Iterable[BaseModel]) -> bytes:
    return b",".join(view.model_dump_json().encode() for view in views)


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/tasks/export",
        get_export,
        "Export tasks with their attempts and events, one a line, oldest first",
        {200: MEDIA_TYPE},
        description="Each line is a task as `GET /tasks/{task_id}` shows it, with the members `attempts` and `events`. "
        "Tasks are in the order of their ids, and so of their creation. An answer that breaks off is not terminated; "
        "`after` goes on with the next task.",
        query=ExportQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    )
]
