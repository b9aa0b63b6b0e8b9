"""Wake-ups. A NOTIFY takes a global lock at commit, so it is never part of a task's transaction, and each process
sends few of them, with many hints in one. Everything works without them."""

import atexit
import os
import threading
import time
from collections.abc import Iterable

from state.database import pooled
from state.dberrors import kind_of
from state.logs import log
from state.retries import retrying

WORK = "callboard_work"  # payload: names of queues that have something to claim; CONTROL: look at your leases
TASKS = "callboard_tasks"  # payload: ids of tasks with new events; EVERYTHING: more than fit
CONTROL = "!"
EVERYTHING = "*"

_GAP = 0.02  # seconds between two sends: the first hint goes out at once, a storm of them together
_GRACE = 0.005  # seconds in which somebody may come who has a connection in hand; then the bell's own thread sends
_MOST_IDS = 50

Notification = dict[str, str]  # the parameters of `notify`


class Bell:
    def __init__(self) -> None:
        self._hints: dict[str, set[str]] = {WORK: set(), TASKS: set()}
        self._rung = threading.Condition()
        self._sending = False
        self._quiet_until = {WORK: 0.0, TASKS: 0.0}
        self._thread: threading.Thread | None = None

    def ring(self, channel: str, hints: Iterable[str]) -> None:
        hints = set(hints)
        if hints <= self._hints[channel]:  # they are still to be sent, and that will be after this moment
            return
        with self._rung:
            self._hints[channel].update(hints)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._rung.notify_all()

    def take_along(self, channel: str, hints: Iterable[str]) -> Notification | None:
        """What the caller is to send itself, now, with all that others have left; None when that is too soon."""
        if time.monotonic() < self._quiet_until[channel]:  # mostly so, and then there is nothing to lock
            return None
        with self._rung:
            if self._sending or time.monotonic() < self._quiet_until[channel]:
                return None
            self._hints[channel].update(hints)
            return self._take(channel)

    def flush(self, timeout: float = 2.0) -> None:
        """Waits until what was rung has been sent; for processes that are about to end."""
        with self._rung:
            self._rung.wait_for(lambda: not self._sending and not any(self._hints.values()), timeout)

    def _run(self) -> None:
        while True:
            with self._rung:
                self._rung.wait_for(lambda: any(self._hints.values()))
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
        with self._rung:
            self._sending = False
            self._rung.notify_all()


@retrying
def _notify(due: list[Notification]) -> None:
    with pooled() as own:
        own.pipeline([("notify", notification) for notification in due])


_bell = Bell()


def _new_bell() -> None:
    global _bell
    _bell = Bell()


os.register_at_fork(after_in_child=_new_bell)


def ring_work(queues: Iterable[str]) -> None:
    _bell.ring(WORK, queues)


def work_notification(queues: Iterable[str]) -> Notification | None:
    """What to send with `notify` right behind the commit that gives these queues work: nothing wakes a worker sooner.
    None when it is too soon after the last one: ring_work then, after the commit."""
    return _bell.take_along(WORK, queues)


def ring_control() -> None:
    _bell.ring(WORK, [CONTROL])


def ring_tasks(ids: Iterable[str]) -> None:
    _bell.ring(TASKS, ids)


def flush_bell() -> None:
    _bell.flush()
