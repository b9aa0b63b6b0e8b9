"""A stream over the events of one subject, as they are written, from any position, each exactly once."""

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import get_events
from taskapi.access.authorization import get_caller
from taskapi.api.parameters import Position, TokenQuery, is_position, parse_query
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb
from taskapi.streams.batch import split
from taskapi.streams.channel import Channel
from taskapi.streams.feed import PAGE, Feed
from taskapi.streams.response import StreamResponse
from taskapi.streams.sse import (
    HEADERS,
    RETRY,
    Piece,
    encode_done,
    encode_event,
    encode_snapshot,
    send_headers,
)
from taskapi.streams.subject import Followed, Subject
from taskapi.streams.subscription import Subscription


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

    async def write(channel: Channel) -> None:
        await _write_events(request, channel, subject, its_id, state, position)

    return StreamResponse(request, feed.pace, write)


def _parse_last_event_id(request: Request) -> int | None:
    value = request.headers.get("last-event-id")
    if not value:
        return None
    if not is_position(value):
        raise Problem.at_field("invalid-parameter", "Last-Event-ID", "must be the id of an event of this stream")
    return int(value)


async def _write_events(
    request: Request, channel: Channel, subject: Subject, its_id: str, state: Followed, position: int | None
) -> None:
    feed: Feed = request.app.state.feed
    sees_all = get_caller(request).has_role("operator")
    await channel.put(RETRY)
    if position is None:
        await channel.put(Piece(encode_snapshot(subject, state)))
        position = state.last_event
    if state.finished and position >= state.last_event:
        await channel.put(Piece(encode_done(subject, state, with_tracebacks=sees_all)))
        return
    may_be_over = state.finished
    behind = state.last_event - position > PAGE
    while True:
        # A long backlog is read here, at the client's speed: the feed serves all streams and waits for none.
        while behind and not feed.closed:
            events = await run_verb(request, get_events, its_id, position, PAGE)
            for batch in split([encode_event(subject, event) for event in events], position):
                await channel.put(batch.whole if sees_all else batch.plain)
                position = batch.last
                may_be_over = may_be_over if batch.may_end is None else batch.may_end
            behind = len(events) == PAGE
        subscription = Subscription(channel, subject, its_id, position, may_be_over, with_tracebacks=sees_all)
        with feed.subscribe(subscription):
            await subscription.wait()
        if subscription.last is not None:
            await channel.put(subscription.last)
        if not subscription.behind:
            return
        await channel.drain()
        position, may_be_over, behind = subscription.position, subscription.may_be_over, True
