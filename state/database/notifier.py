"""Wake-ups. A NOTIFY takes a global lock at commit, so it is never part of a task's transaction, and each process
sends few of them, with many hints in one. Everything works without them."""

import atexit
import os
import threading
import time
from collections.abc import Iterable

from state.database.errors import kind_of
from state.database.pool import pooled
from state.database.retries import retrying
from state.logs import log

WORK = "callboard_work"  # payload: names of queues that have something to claim; CONTROL: look at your leases
TASKS = "callboard_tasks"  # payload: ids of tasks with new events; EVERYTHING: more than fit
CONTROL = "!"
EVERYTHING = "*"

_GAP = 0.02  # seconds between two sends: the first hint goes out at once, a storm of them together
_GRACE = 0.005  # seconds in which somebody may come who has a connection in hand; then the notifier's own thread sends
_MOST_IDS = 50

Notification = dict[str, str]  # the parameters of `notify`


class Notifier:
    def __init__(self) -> None:
        self._hints: dict[str, set[str]] = {WORK: set(), TASKS: set()}
        self._changed = threading.Condition()
        self._sending = False
        self._quiet_until = {WORK: 0.0, TASKS: 0.0}
        self._thread: threading.Thread | None = None

    def notify(self, channel: str, hints: Iterable[str]) -> None:
        hints = set(hints)
        if hints <= self._hints[channel]:  # they are still to be sent, and that will be after this moment
            return
        with self._changed:
            self._hints[channel].update(hints)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._changed.notify_all()

    def take_along(self, channel: str, hints: Iterable[str]) -> Notification | None:
        """What the caller is to send itself, now, with all that others have left; None when that is too soon."""
        if time.monotonic() < self._quiet_until[channel]:  # mostly so, and then there is nothing to lock
            return None
        with self._changed:
            if self._sending or time.monotonic() < self._quiet_until[channel]:
                return None
            self._hints[channel].update(hints)
            return self._take(channel)

    def flush(self, timeout: float = 2.0) -> None:
        """Waits until what was rung has been sent; for processes that are about to end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._sending and not any(self._hints.values()), timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: any(self._hints.values()))
                waiting = [channel for channel, hints in self._hints.items() if hints]
                pause = min(self._quiet_until[channel] for channel in waiting) + _GRACE - time.monotonic()
                due = [self._take(channel) for channel in waiting] if pause <= 0 else []
                self._sending = bool(due)
            if due:
                self._send(due)
            else:
                time.sleep(pause)

    def _take(self, channel: str) -> Notification:
        self._quiet_until[channel] = time.monotonic() + _GAP
        hints, self._hints[channel] = self._hints[channel], set()
        return {"channel": channel, "payload": EVERYTHING if len(hints) > _MOST_IDS else ",".join(hints)}

    def _send(self, due: list[Notification]) -> None:
        try:
            _notify(due)
        except Exception as failure:  # only hints are lost, and the fallback poll is there for that
            if kind_of(failure) == "bug":
                log.exception("hints could not be sent")
        with self._changed:
            self._sending = False
            self._changed.notify_all()


@retrying
def _notify(due: list[Notification]) -> None:
    with pooled() as own:
        own.pipeline([("notify", notification) for notification in due])


_notifier = Notifier()


def _new_notifier() -> None:
    global _notifier
    _notifier = Notifier()


os.register_at_fork(after_in_child=_new_notifier)


def notify_work(queues: Iterable[str]) -> None:
    _notifier.notify(WORK, queues)


def work_notification(queues: Iterable[str]) -> Notification | None:
    """What to send with `notify` right behind the commit that gives these queues work: nothing wakes a worker sooner.
    None when it is too soon after the last one: notify_work then, after the commit."""
    return _notifier.take_along(WORK, queues)


def notify_control() -> None:
    _notifier.notify(WORK, [CONTROL])


def notify_tasks(ids: Iterable[str]) -> None:
    _notifier.notify(TASKS, ids)


def flush_notifications() -> None:
    _notifier.flush()
