"""What a stream follows: a thing with numbered events, such as a task or a workflow."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from state.tasks.events import Event


class Followed(Protocol):
    """The state of such a thing at one moment."""

    @property
    def last_event(self) -> int: ...  # the n of its newest event

    @property
    def finished(self) -> bool: ...  # no further events are expected

    def without_tracebacks(self) -> "Followed": ...  # as those see it who are not operators


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of things that streams can follow. Ids begin with a prefix for each kind, so that events of all kinds
    are read by one query."""

    name: str  # of the kind, such as task
    read: Callable[..., Any]  # returns its state by its id, as a caller sees it; raises its own error if there is none
    # For all streams together, whose callers have read it before. Those that do not exist are not in the result.
    read_many: Callable[[Collection[str]], dict[str, Any]]
    make_view: Callable[[Any], BaseModel]  # the data of `snapshot` and `done`
    may_end: Callable[[Event], bool | None]  # whether it may be finished after the event; None: the event does not tell
