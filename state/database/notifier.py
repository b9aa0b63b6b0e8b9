"""Sends hints. A hint is a NOTIFY that says where to look: names of queues that have work, or ids of tasks that have
new events.

A NOTIFY takes a global lock at commit, so it is never part of a task's transaction, and each process sends few of them,
with many names in one. Hints only save time: everything works without them."""

import atexit
import os
import threading
import time
from collections.abc import Iterable

from state.database.errors import kind_of
from state.database.queries import fetch_each
from state.database.retries import retrying
from state.database.rhythm import Rhythm
from state.logs import log

WORK = "callboard_work"  # names: queues that have something to claim
TASKS = "callboard_tasks"  # names: ids of tasks with new events
CONTROL = "!"  # instead of a queue: a worker has to look at its leases
EVERYTHING = "*"  # instead of names: more than fit

_GAP = 0.02  # seconds between two hints, on average: names that follow many others are sent together

_GRACE = 0.005  # seconds in which a thread with a connection may take the names along; then the notifier's thread sends
_MOST_NAMES = 50

Hint = dict[str, str]  # the parameters of `notify`


class Notifier:
    def __init__(self) -> None:
        self._unsent: dict[str, set[str]] = {WORK: set(), TASKS: set()}
        self._changed = threading.Condition()
        self._sending = False
        self._rhythms = {WORK: Rhythm(_GAP), TASKS: Rhythm(_GAP)}
        self._thread: threading.Thread | None = None

    def notify(self, channel: str, names: Iterable[str]) -> None:
        names = set(names)
        if names <= self._unsent[channel]:  # they are sent after this moment anyway
            return
        with self._changed:
            self._unsent[channel].update(names)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._changed.notify_all()

    def take_along(self, channel: str, names: Iterable[str]) -> Hint | None:
        """Returns a hint that the caller has to send now, with these names and all that are still unsent.
        Returns None if it is too soon after the last one."""
        if self._rhythms[channel].wait() > 0:  # mostly so: looked at without the lock first
            return None
        with self._changed:
            if self._sending or self._rhythms[channel].wait() > 0:
                return None
            self._unsent[channel].update(names)
            return self._take(channel)

    def flush(self, timeout: float = 2.0) -> None:
        """Waits until everything has been sent; for a process that is about to end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._sending and not any(self._unsent.values()), timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: any(self._unsent.values()))
                waiting = [channel for channel, names in self._unsent.items() if names]
                pause = min(self._rhythms[channel].wait() + _GRACE for channel in waiting)
                due = [self._take(channel) for channel in waiting] if pause <= 0 else []
                self._sending = bool(due)
            if due:
                self._send(due)
            else:
                time.sleep(pause)

    def _take(self, channel: str) -> Hint:
        self._rhythms[channel].note()
        names, self._unsent[channel] = self._unsent[channel], set()
        return {"channel": channel, "payload": EVERYTHING if len(names) > _MOST_NAMES else ",".join(names)}

    def _send(self, due: list[Hint]) -> None:
        try:
            _send_all(due)
        except Exception as failure:  # workers and readers also look without a hint
            if kind_of(failure) == "bug":
                log.exception("hints could not be sent")
        with self._changed:
            self._sending = False
            self._changed.notify_all()


@retrying
def _send_all(due: list[Hint]) -> None:
    fetch_each([("notify", hint) for hint in due])


_notifier = Notifier()


def _replace_notifier() -> None:
    global _notifier
    _notifier = Notifier()


os.register_at_fork(after_in_child=_replace_notifier)


def notify_work(queues: Iterable[str]) -> None:
    _notifier.notify(WORK, queues)


def take_work_hint(queues: Iterable[str]) -> Hint | None:
    """Returns the parameters of `notify`, for a caller that sends it right after the commit that gives these queues
    work: nothing wakes a worker sooner. Returns None if it is too soon after the last one: then the caller calls
    notify_work after the commit."""
    return _notifier.take_along(WORK, queues)


def notify_control() -> None:
    _notifier.notify(WORK, [CONTROL])


def notify_tasks(ids: Iterable[str]) -> None:
    _notifier.notify(TASKS, ids)


def flush_hints() -> None:
    _notifier.flush()
