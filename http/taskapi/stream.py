"""GET /tasks/{id}/stream: a task's history as it is written, from any position, every line exactly once."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from state.logs import log
from state.tasks.events import get_events
from state.tasks.reads import Task, get_task
from taskapi.feed import PAGE, Feed
from taskapi.lines import KEEP_ALIVE, RETRY, done_line, line_of, snapshot_line
from taskapi.requests import StreamQuery, last_event_id_of, parse_query, task_id_of
from taskapi.threads import call

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA_TYPE = "text/event-stream"


async def get_stream(request: Request) -> Response:
    query = parse_query(request, StreamQuery)
    last_seen = last_event_id_of(request)  # before the query: a client that comes back repeats its first URL
    position = query.after if last_seen is None else last_seen
    task = await call(request, get_task, task_id_of(request))
    if position is not None and task.finished and position >= task.last_event:
        return Response(status_code=204, headers=HEADERS)  # tells EventSource to stop
    if request.method == "HEAD":
        return Response(headers=HEADERS, media_type=MEDIA_TYPE)
    feed: Feed = request.app.state.feed
    return LineResponse(_lines(request, feed, task, position), feed.pace.patience)


async def _lines(request: Request, feed: Feed, task: Task, position: int | None) -> AsyncGenerator[bytes, None]:
    yield RETRY
    if position is None:
        yield snapshot_line(task)
        position = task.last_event
    if task.finished and position >= task.last_event:
        yield done_line(task)
        return
    may_be_over = task.finished
    behind = task.last_event - position > PAGE
    while True:
        # A long backlog is read here, at the client's pace: the feed is for all, and waits for nobody.
        while behind and not feed.closed:
            page = [line_of(event) for event in await call(request, get_events, task.task_id, position, PAGE)]
            for line in page:
                yield line.text
                position = line.n
                may_be_over = may_be_over if line.finishes is None else line.finishes
            behind = len(page) == PAGE
        with feed.subscribe(task.task_id, position, may_be_over) as subscription:
            while (text := await subscription.take(feed.pace.keep_alive)) is not None:
                yield text or KEEP_ALIVE
        if not subscription.full:
            return
        position, may_be_over, behind = subscription.position, subscription.may_be_over, True


class LineResponse(StreamingResponse):
    """Ends as well when its client leaves, or takes nothing for a while: such a client may come back later."""

    def __init__(self, lines: AsyncGenerator[bytes, None], patience: float) -> None:
        super().__init__(lines, headers=HEADERS, media_type=MEDIA_TYPE)
        self._lines = lines
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except TimeoutError:
            log.warning("stream closed: its client does not read", path=scope["path"])

    async def stream_response(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._lines) as lines:
            async for text in lines:
                await self._send(send, text, more=True)
        await self._send(send, b"", more=False)

    async def _send(self, send: Send, text: bytes, *, more: bool) -> None:
        with anyio.fail_after(self._patience):
            await send({"type": "http.response.body", "body": text, "more_body": more})
