"""Follows a task's history line by line, also over a restart of the database."""

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from psycopg import OperationalError

from deploy.cli.exits import NO_DATABASE, Failure
from state import Event, Task, get_events, get_task
from state.database.listener import Listener
from state.database.notifier import EVERYTHING, TASKS
from state.errors import NotReady

_POLL = 1.0  # seconds between two looks, when no hint comes
_PATIENCE = 120.0  # seconds without a database until it is not a restart any more


class Screen(Protocol):
    """Shows what is seen."""

    def snapshot(self, task: Task) -> None: ...
    def event(self, event: Event) -> None: ...
    def away(self) -> None:
        """The database does not answer."""

    def done(self, task: Task) -> None: ...


def follow(task: Task, screen: Screen) -> Task:
    """Tells the screen all that happens to the task from now on; answers the task as it ended."""
    news = threading.Event()

    def heard(hints: Sequence[str]) -> None:
        if task.task_id in hints or EVERYTHING in hints:
            news.set()

    screen.snapshot(task)
    listener = Listener(TASKS, heard)
    listener.start()
    try:
        return _follow(task, screen, news, listener)
    finally:
        listener.stop()


def _follow(task: Task, screen: Screen, news: threading.Event, listener: Listener) -> Task:
    seen = task.last_event
    answered = time.monotonic()
    listening = False
    while True:
        news.clear()
        if listening and not listener.connected.is_set():
            screen.away()  # it learns of it at once; the reads below take their time to give up
        listening = listening or listener.connected.is_set()
        try:
            # The task first: when it has ended, the lines read after it are all there are.
            task = get_task(task.task_id)
            events = get_events(task.task_id, after=seen)
        except (OperationalError, NotReady) as lost:
            screen.away()
            if time.monotonic() - answered > _PATIENCE:
                raise Failure(NO_DATABASE, f"The database has been away for too long: {lost}") from lost
            time.sleep(1)
            continue
        answered = time.monotonic()
        for event in events:
            screen.event(event)
            seen = event.n
        if task.finished and seen >= task.last_event:
            screen.done(task)
            return task
        if not events:
            news.wait(_POLL)
