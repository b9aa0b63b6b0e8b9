"""Follows a task's history event by event, also across a restart of the database."""

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from deploy.cli.exits import NO_DATABASE, Failure
from state import Event, Task, get_events, get_task
from state.database.errors import DatabaseUnavailable
from state.database.listener import Listener
from state.database.notifier import EVERYTHING, TASKS
from state.errors import NotReady

_POLL_SECONDS = 1.0  # between two reads if no notification arrives
_RETRY_SECONDS = 1.0
_MAX_OUTAGE = 120.0  # seconds without a database after which the command fails


class Screen(Protocol):
    """Shows a task to the user."""

    def show_snapshot(self, task: Task) -> None: ...
    def show_event(self, event: Event) -> None: ...
    def show_outage(self) -> None:
        """The database does not answer. Called again and again until it does."""

    def show_end(self, task: Task) -> None: ...


def follow(task: Task, screen: Screen) -> Task:
    """Shows the task and all its later events. Returns the finished task."""
    notified = threading.Event()

    def on_notification(task_ids: Sequence[str]) -> None:
        if task.task_id in task_ids or EVERYTHING in task_ids:
            notified.set()

    screen.show_snapshot(task)
    listener = Listener(TASKS, on_notification)
    listener.start()
    try:
        return _read_to_end(task, screen, notified, listener)
    finally:
        listener.stop()


def _read_to_end(task: Task, screen: Screen, notified: threading.Event, listener: Listener) -> Task:
    position = task.last_event
    last_answer = time.monotonic()
    was_connected = False
    while True:
        notified.clear()
        if was_connected and not listener.connected.is_set():
            screen.show_outage()  # the listener notices at once; the reads below retry for a while before they fail
        was_connected = was_connected or listener.connected.is_set()
        try:
            # The task first: if it has finished, the events read after it are complete.
            task = get_task(task.task_id)
            events = get_events(task.task_id, after=position)
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
        if task.finished and position >= task.last_event:
            screen.show_end(task)
            return task
        if not events:
            notified.wait(_POLL_SECONDS)
