"""Server-sent events as text. Data is JSON in one line, so nothing in it can end an event early."""

from dataclasses import dataclass

from state.tasks.events import Event
from state.tasks.reads import Task
from state.transitions import FINISHED
from taskapi.views import EventView, QueuesStatus, TaskView

RETRY = b"retry: 2000\n\n"
KEEP_ALIVE = b": keep-alive\n\n"

# The standard ends a line at \r and \n only, many a client at these as well. They can stand in texts only.
_ESCAPES = str.maketrans({"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"})


@dataclass(frozen=True, slots=True)
class Line:
    n: int
    text: bytes
    finishes: bool | None  # does it move the task to a finished status, or out of one? None: it moves nothing


def line_of(event: Event) -> Line:
    finishes = event.data.get("to") in FINISHED if event.kind == "status" else None
    return Line(event.n, _encode(event.n, event.kind, EventView.of(event).model_dump_json()), finishes)


def snapshot_line(task: Task) -> bytes:
    return _encode(task.last_event, "snapshot", TaskView.of(task).model_dump_json())


def done_line(task: Task) -> bytes:
    return _encode(task.last_event, "done", TaskView.of(task).model_dump_json())


def status_line(status: QueuesStatus) -> bytes:
    """Without an id: who comes back gets what is so then."""
    return f"event: status\ndata: {status.model_dump_json().translate(_ESCAPES)}\n\n".encode()


def _encode(n: int, kind: str, data: str) -> bytes:
    name = "".join(kind.splitlines())  # an actor chooses its kinds
    return f"id: {n}\nevent: {name}\ndata: {data.translate(_ESCAPES)}\n\n".encode()
