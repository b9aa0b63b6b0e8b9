"""All that a worker process runs beside its tasks: the desk, the pulse, the sweeper and the listener."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from broker.desk import Desk
from broker.execution import Execution
from broker.interrupts import ShuttingDown
from broker.pulse import Pulse
from broker.sweeper import Sweeper
from state import workers
from state.bell import CONTROL, EVERYTHING, WORK, flush_bell
from state.claims import Settlement
from state.database import RETRYABLE, close_database
from state.errors import NotReady
from state.listener import Listener
from state.logs import log
from state.schema import require_current_schema
from state.settings import get_settings
from state.workers import Identity

_LAST_WORDS = 2.0  # seconds for interrupted code to end


class Workplace:
    def __init__(self, queues: Sequence[str], threads: int, deliver: Callable[[Execution], None]) -> None:
        self.identity = Identity.of_this_process()
        self.desk = Desk(self.identity.id, queues, threads, deliver)
        self._queues = queues
        self._threads = threads
        self._pulse = Pulse(self.identity, self.desk)
        self._sweeper = Sweeper(self.identity, self.desk, queues)
        self._listener = Listener(WORK, self._heard)
        self.on_open: list[Callable[[], None]] = []  # done once the database answers, before the first claim
        self._opened = False
        self._closing = threading.Event()
        self._moving = threading.Lock()

    def open(self) -> None:
        """In a thread: the database may not be there yet, or not be migrated, and a worker waits for it."""
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def _open(self) -> None:
        while not self._closing.is_set():
            try:
                require_current_schema()
                workers.register(self.identity, self._queues, self._threads)
                for prepare in self.on_open:
                    prepare()
                break
            except (NotReady, *RETRYABLE) as reason:
                log.warning("worker waits for the database", reason=str(reason).strip())
                self._closing.wait(1)
            except Exception:
                log.exception("worker cannot start, trying again", worker=self.identity.id)
                self._closing.wait(5)
        with self._moving:
            if self._closing.is_set():
                return
            self._listener.start()
            self._pulse.start()
            self._sweeper.start()
            self.desk.start()
            self._opened = True
        log.info("worker ready", worker=self.identity.id, queues=list(self._queues), threads=self._threads)

    def _heard(self, hints: Sequence[str]) -> None:
        if CONTROL in hints or EVERYTHING in hints:
            self._pulse.beat_now()
        if EVERYTHING in hints or not set(hints).isdisjoint(self._queues):
            self.desk.hint()

    def begin_shutdown(self) -> None:
        """No more claims; what no thread has taken goes back at once; what runs has the grace time to finish."""
        self.desk.stop_claiming()
        for execution in list(self.desk.executions.values()):
            if execution.give_back():
                self._release(execution)
        threading.Thread(target=self._end_grace, name="grace", daemon=True).start()

    def _end_grace(self) -> None:
        if self._wait_idle(get_settings().grace_seconds):
            return
        for execution in self._running():
            execution.interrupt(ShuttingDown)
        if self._wait_idle(_LAST_WORDS):
            return
        stuck = self._running()
        for execution in stuck:
            execution.lost = True  # whatever it still does, this process writes nothing more for it
            self._release(execution)
        log.error("code does not stop; ending the process", tasks=[execution.claimed.id for execution in stuck])
        self.close()
        os._exit(0)

    def _release(self, execution: Execution) -> None:
        self.desk.post(Settlement(execution.claimed.id, execution.claimed.epoch, "released"))

    def _running(self) -> list[Execution]:
        return [execution for execution in list(self.desk.executions.values()) if not execution.finished]

    def _wait_idle(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._running() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._running()

    def close(self) -> None:
        with self._moving:
            self._closing.set()
        if self._opened:
            self.desk.drain(timeout=10)
            self.desk.stop()
            self._sweeper.stop()
            self._pulse.stop()
            self._listener.stop()
            with suppress(NotReady, *RETRYABLE):  # then the others will see that we are gone
                workers.stopped([self.identity.id])
            flush_bell()
        close_database()


_current: Workplace | None = None


def set_current(workplace: Workplace | None) -> None:
    global _current
    _current = workplace


def current() -> Workplace:
    if _current is None:
        raise RuntimeError("Tasks run in worker processes: start them with `dramatiq actors`.")
    return _current
