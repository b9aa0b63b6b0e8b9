"""Frames of server-sent events. The data of a frame is JSON on one line, so that nothing in it can end the frame
early."""

from dataclasses import dataclass

from pydantic import BaseModel
from starlette.responses import Response

from state.tasks.events import Event
from taskapi.resources.tasks import EventView
from taskapi.streams.subject import Followed, Subject

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA_TYPE = "text/event-stream"

# The standard ends a line at \r and \n only; many clients end it at these as well. In JSON they occur only in texts.
_ESCAPES = str.maketrans({"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"})


class Piece:
    """Whole frames, as they are and as a chunk of HTTP/1.1."""

    __slots__ = ("_chunk", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._chunk: bytes | None = None

    @property
    def chunk(self) -> bytes:
        if self._chunk is None:
            self._chunk = b"%x\r\n%b\r\n" % (len(self.text), self.text)
        return self._chunk


RETRY = Piece(b"retry: 2000\n\n")
KEEP_ALIVE = Piece(b": keep-alive\n\n")


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
