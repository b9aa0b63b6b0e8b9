"""Follows the history of a task, or of a workflow, event by event, also across a restart of the database."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from deploy.cli.exits import NO_DATABASE, Failure
from state import Event, get_events
from state.database.errors import DatabaseUnavailable
from state.database.listener import Listener
from state.database.notifier import EVERYTHING, TASKS
from state.errors import NotReady

_POLL_SECONDS = 1.0  # between two reads if no notification arrives
_RETRY_SECONDS = 1.0
_MAX_OUTAGE = 120.0  # seconds without a database after which the command fails


class Followed(Protocol):
    """What can be followed, as it is at one moment."""

    @property
    def last_event(self) -> int: ...
    @property
    def finished(self) -> bool: ...


_State = TypeVar("_State", bound=Followed)
_Shown = TypeVar("_Shown", contravariant=True)


class Screen(Protocol[_Shown]):
    """Shows a task, or something else that has events, to the user."""

    def show_snapshot(self, state: _Shown, /) -> None: ...
    def show_event(self, event: Event) -> None: ...
    def show_outage(self) -> None:
        """The database does not answer. Called again and again until it does."""

    def show_end(self, state: _Shown, /) -> None: ...


def follow(its_id: str, read: Callable[[str], _State], screen: Screen[_State]) -> _State:
    """Shows what has this id, and all its later events, until it is finished. Returns its last state."""
    notified = threading.Event()

    def on_notification(ids: Sequence[str]) -> None:
        if its_id in ids or EVERYTHING in ids:
            notified.set()

    state = read(its_id)
    screen.show_snapshot(state)
    listener = Listener(TASKS, on_notification)
    listener.start()
    try:
        return _read_to_end(its_id, read, state.last_event, screen, notified, listener)
    finally:
        listener.stop()


def _read_to_end(
    its_id: str,
    read: Callable[[str], _State],
    position: int,
    screen: Screen[_State],
    notified: threading.Event,
    listener: Listener,
) -> _State:
    last_answer = time.monotonic()
    was_connected = False
    while True:
        notified.clear()
        if was_connected and not listener.connected.is_set():
            screen.show_outage()  # the listener notices at once; the reads below retry for a while before they fail
        was_connected = was_connected or listener.connected.is_set()
        try:
            # The state first: if it is finished, the events read after it are complete.
            state = read(its_id)
            events = get_events(its_id, after=position)
        except (DatabaseUnavailable, NotReady) as lost:
            screen.show_outage()
            if time.monotonic() - last_answer > _MAX_OUTAGE:
                raise Failure(NO_DATABASE, f"The database has not answered for too long: {lost}") from lost
            time.sleep(_RETRY_SECONDS)
            continue
        last_answer = time.monotonic()
        for event in events:
            screen.show_event(event)
            position = event.n
        if state.finished and position >= state.last_event:
            screen.show_end(state)
            return state
        if not events:
            notified.wait(_POLL_SECONDS)
