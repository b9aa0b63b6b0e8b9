"""Frames of server-sent events, and the response that sends them. The data of a frame is JSON on one line, so that
nothing in it can end the frame early."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from state.logs import log
from state.tasks.events import Event
from taskapi.access.authorization import get_access, get_caller
from taskapi.resources.tasks import EventView
from taskapi.streams.subject import Followed, Subject

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA_TYPE = "text/event-stream"

RETRY = b"retry: 2000\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

# The standard ends a line at \r and \n only; many clients end it at these as well. In JSON they occur only in texts.
_ESCAPES = str.maketrans({"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"})


@dataclass(frozen=True, slots=True)
class EventFrame:
    n: int
    text: bytes
    plain: bytes  # without tracebacks, for those who may not see them; mostly the same object
    may_end: bool | None  # whether the subject may be finished after the event; None: the event does not tell

    def get_text(self, *, with_tracebacks: bool) -> bytes:
        return self.text if with_tracebacks else self.plain


def encode_event(subject: Subject, event: Event) -> EventFrame:
    text = _encode(event.kind, EventView.of(event), event.n)
    hidden = event.without_tracebacks()
    plain = text if hidden is event else _encode(event.kind, EventView.of(hidden), event.n)
    return EventFrame(event.n, text, plain, subject.may_end(event))


def encode_snapshot(subject: Subject, state: Followed) -> bytes:
    """`state` was read as the caller, who gets the frame."""
    return _encode("snapshot", subject.make_view(state), state.last_event)


def encode_done(subject: Subject, state: Followed, *, with_tracebacks: bool) -> bytes:
    shown = state if with_tracebacks else state.without_tracebacks()
    return _encode("done", subject.make_view(shown), state.last_event)


def encode_status(status: BaseModel) -> bytes:
    """Encodes the status of the queues. The frame has no id: a client that reconnects gets the current status."""
    return _encode("status", status)


def _encode(kind: str, view: BaseModel, n: int | None = None) -> bytes:
    name = "".join(kind.splitlines())  # an actor may choose any kind
    data = view.model_dump_json().translate(_ESCAPES)
    text = f"event: {name}\ndata: {data}\n\n"
    return (text if n is None else f"id: {n}\n{text}").encode()


def send_headers() -> Response:
    """The response to HEAD."""
    return Response(headers=HEADERS, media_type=MEDIA_TYPE)


class FrameResponse(StreamingResponse):
    """Sends frames until there are no more, until the client disconnects or its key is revoked, or until the client has
    read nothing for `patience` seconds. A client that was dropped may reconnect with the id of its last event."""

    def __init__(self, request: Request, frames: AsyncGenerator[bytes, None], patience: float) -> None:
        super().__init__(frames, headers=HEADERS, media_type=MEDIA_TYPE)
        self._request = request
        self._frames = frames
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except TimeoutError:
            log.warning("stream closed: its client does not read", path=scope["path"])

    async def stream_response(self, send: Send) -> None:
        with get_access(self._request).streams.follow(get_caller(self._request)):  # ends when the key is revoked
            with anyio.CancelScope(shield=True):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(self._frames) as frames:
                async for text in frames:
                    await self._send(send, text, more=True)
        await self._send(send, b"", more=False)

    async def _send(self, send: Send, text: bytes, *, more: bool) -> None:
        with anyio.fail_after(self._patience):
            await send({"type": "http.response.body", "body": text, "more_body": more})
