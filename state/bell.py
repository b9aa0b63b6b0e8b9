"""Wake-ups. A NOTIFY takes a global lock at commit, so it is never part of a task's transaction: each process sends
its hints from one thread, on a connection of its own, many in one statement. Everything works without them."""

import atexit
import os
import threading
import time
from collections.abc import Iterable

import psycopg

from state.database import Connection, get_database
from state.statements import statement

WORK = "callboard_work"  # payload: names of queues that have something to claim; CONTROL: look at your leases
TASKS = "callboard_tasks"  # payload: ids of tasks with new events; EVERYTHING: more than fit
CONTROL = "!"
EVERYTHING = "*"

_GAP = 0.01  # seconds between two sends: the first hint goes out at once, a storm of them together
_MOST_IDS = 50


class Bell:
    def __init__(self) -> None:
        self._hints: dict[str, set[str]] = {WORK: set(), TASKS: set()}
        self._rung = threading.Condition()  # on a lock that its holder may take again
        self._sending = False
        self._quiet_until = 0.0
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None

    def ring(self, channel: str, hints: Iterable[str]) -> None:
        with self._rung:
            self._hints[channel].update(hints)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._rung.notify_all()

    def ring_now(self, channel: str, hints: Iterable[str]) -> None:
        """By the caller's own thread, unless it is too soon for another one: somebody waits for this task to start."""
        with self._rung:
            if self._sending or time.monotonic() < self._quiet_until:
                self.ring(channel, hints)
                return
            self._hints[channel].update(hints)
            taken = self._take()
        self._send(taken)

    def flush(self, timeout: float = 2.0) -> None:
        """Waits until what was rung has been sent; for processes that are about to end."""
        with self._rung:
            self._rung.wait_for(lambda: not self._sending and not any(self._hints.values()), timeout)

    def close(self) -> None:
        self.flush()
        with self._rung:
            if self._connection is not None:
                self._connection.close()

    def _run(self) -> None:
        while True:
            with self._rung:
                self._rung.wait_for(lambda: any(self._hints.values()) and not self._sending)
                pause = self._quiet_until - time.monotonic()
                taken = self._take() if pause <= 0 else None
            if taken is None:
                time.sleep(pause)
            else:
                self._send(taken)

    def _take(self) -> dict[str, set[str]]:
        taken = {channel: hints for channel, hints in self._hints.items() if hints}
        self._hints = {WORK: set(), TASKS: set()}
        self._sending = True
        return taken

    def _send(self, taken: dict[str, set[str]]) -> None:
        payloads = [EVERYTHING if len(hints) > _MOST_IDS else ",".join(hints) for hints in taken.values()]
        try:
            if self._connection is None or self._connection.closed:
                self._connection = get_database().connect("bell")
                self._connection.execute(statement("notify_session"), prepare=False)
            self._connection.execute(statement("notify"), {"channels": list(taken), "payloads": payloads})
        except psycopg.Error:
            self._connection = None  # only a hint was lost: the fallback poll is there for that
        finally:
            with self._rung:
                self._sending = False
                self._quiet_until = time.monotonic() + _GAP
                self._rung.notify_all()


_bell = Bell()


def close_bell() -> None:
    """When another database is meant from now on."""
    _bell.close()
    _new_bell()


def _new_bell() -> None:
    global _bell
    _bell = Bell()


os.register_at_fork(after_in_child=_new_bell)


def ring_work(queues: Iterable[str]) -> None:
    _bell.ring(WORK, queues)


def ring_work_now(queues: Iterable[str]) -> None:
    _bell.ring_now(WORK, queues)


def ring_control() -> None:
    _bell.ring(WORK, [CONTROL])


def ring_tasks(ids: Iterable[str]) -> None:
    _bell.ring(TASKS, ids)


def flush_bell() -> None:
    _bell.flush()
