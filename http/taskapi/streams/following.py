"""A stream over the events of one subject, as they are written, from any position, each exactly once."""

from collections.abc import AsyncGenerator

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import get_events
from taskapi.access.authorization import get_caller
from taskapi.api.parameters import Position, TokenQuery, is_position, parse_query
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.streams.feed import PAGE, Feed
from taskapi.streams.sse import (
    HEADERS,
    KEEP_ALIVE,
    RETRY,
    FrameResponse,
    encode_done,
    encode_event,
    encode_snapshot,
    send_headers,
)
from taskapi.streams.subject import Followed, Subject


class StreamQuery(TokenQuery):
    after: Position | None = Field(None, description="Like the header Last-Event-ID, which overrides it.")


async def follow(request: Request, subject: Subject, its_id: str) -> Response:
    """Answers with the stream; 204 to a client that has seen everything there was."""
    query = parse_query(request, StreamQuery)
    last_event_id = _parse_last_event_id(request)  # overrides the query: EventSource reconnects with its first URL
    position = query.after if last_event_id is None else last_event_id
    state: Followed = await run_verb(request, subject.read, its_id)
    if position is not None and state.finished and position >= state.last_event:
        return Response(status_code=204, headers=HEADERS)  # tells EventSource to stop
    if request.method == "HEAD":
        return send_headers()
    feed: Feed = request.app.state.feed
    frames = _generate_frames(request, feed, subject, its_id, state, position)
    return FrameResponse(request, frames, feed.pace.patience)


def _parse_last_event_id(request: Request) -> int | None:
    value = request.headers.get("last-event-id")
    if not value:
        return None
    if not is_position(value):
        raise Problem.at_field("invalid-parameter", "Last-Event-ID", "must be the id of an event of this stream")
    return int(value)


async def _generate_frames(
    request: Request, feed: Feed, subject: Subject, its_id: str, state: Followed, position: int | None
) -> AsyncGenerator[bytes, None]:
    sees_all = get_caller(request).has_role("operator")
    yield RETRY
    if position is None:
        yield encode_snapshot(subject, state)
        position = state.last_event
    if state.finished and position >= state.last_event:
        yield encode_done(subject, state, with_tracebacks=sees_all)
        return
    may_be_over = state.finished
    behind = state.last_event - position > PAGE
    while True:
        # A long backlog is read here, at the client's speed: the feed serves all streams and waits for none.
        while behind and not feed.closed:
            events = await run_verb(request, get_events, its_id, position, PAGE)
            for frame in (encode_event(subject, event) for event in events):
                yield frame.get_text(with_tracebacks=sees_all)
                position = frame.n
                may_be_over = may_be_over if frame.may_end is None else frame.may_end
            behind = len(events) == PAGE
        with feed.subscribe(subject, its_id, position, may_be_over, with_tracebacks=sees_all) as subscription:
            while (text := await subscription.take(feed.pace.keep_alive)) is not None:
                yield text or KEEP_ALIVE
        if not subscription.full:
            return
        position, may_be_over, behind = subscription.position, subscription.may_be_over, True
