"""The steps of a program: what the client logic asks for, and what it gets back. The logic itself does no I/O."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request and read the whole answer. The reply is an Answer or Lost."""

    request: Request


@dataclass(frozen=True, slots=True)
class Open:
    """Send the request and read the head of the answer, its body too unless it is a stream. The reply is an Answer or
    Lost. `silence`: seconds without a byte after which the stream counts as lost. `lines`: the answer is lines of text,
    not server-sent events."""

    request: Request
    silence: float
    lines: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """Read the next frame, or line, of the stream that is open. The reply is a Frame, End or Lost."""


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Emit(Generic[_T]):
    """Hand one value to the caller, who iterates."""

    value: _T


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """A server-sent event, or a line as its data."""

    event: str
    data: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The server has ended the stream."""


@dataclass(frozen=True, slots=True)
class Lost:
    """There is no answer. `sent`: the request may have reached the server."""

    sent: bool
    reason: str
    timed_out: bool = False


Effect = Send | Open | Read | Sleep
Reply = Answer | Frame | End | Lost | None
Program = Generator[Effect, Reply, _T]
EmittingUntil = Generator[Effect | Emit[_T], Reply, _R]
Emitting = Generator[Effect | Emit[_T], Reply, None]
