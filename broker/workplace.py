"""All that a worker process runs beside its tasks: the desk, the pulse, the watch and the sweeper."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from broker import settlements
from broker.desk import Desk
from broker.execution import Execution
from broker.interrupts import ShuttingDown, TimeLimitExceeded
from broker.pulse import Pulse
from broker.replacement import prepare_replacement, replace_process
from broker.sweeper import Sweeper
from broker.watch import PATIENCE, Watch
from state import workers
from state.bell import CONTROL, EVERYTHING, flush_bell
from state.database import RETRYABLE, close_database
from state.errors import NotReady
from state.logs import log
from state.schema import require_current_schema
from state.settings import get_settings
from state.workers import Identity

_LAST_WORDS = 2.0  # seconds for interrupted code to end


class Workplace:
    def __init__(self, queues: Sequence[str], threads: int, deliver: Callable[[Execution], None]) -> None:
        prepare_replacement()
        self.identity = Identity.of_this_process()
        self.desk = Desk(self.identity.id, queues, threads, deliver, self._heard)
        self._queues = queues
        self._threads = threads
        self._pulse = Pulse(self.identity, self.desk)
        self._watch = Watch(self.desk, self._pulse, self.replace)
        self._sweeper = Sweeper(self.identity, self.desk, queues)
        self.on_open: list[Callable[[], None]] = []  # done once the database answers, before the first claim
        self._opened = False
        self._closing = threading.Event()
        self._replacing = False
        self._shutting_down = False
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
            for part in (self._pulse, self._watch, self._sweeper, self.desk):
                part.start()
            self._opened = True
        log.info("worker ready", worker=self.identity.id, queues=list(self._queues), threads=self._threads)

    def _heard(self, hints: Sequence[str]) -> None:
        if CONTROL in hints or EVERYTHING in hints:
            self._pulse.beat_now()
        if EVERYTHING in hints or not set(hints).isdisjoint(self._queues):
            self.desk.hint()

    # The end, when somebody asks for it.

    def begin_shutdown(self) -> None:
        """No more claims; what no thread has taken goes back at once; what runs has the grace time to finish."""
        self._shutting_down = True
        self._stop_starting()
        threading.Thread(target=self._end_grace, name="grace", daemon=True).start()

    def _end_grace(self) -> None:
        if self._wait_for(self._running(), get_settings().grace_seconds):
            return
        running = self._running()
        for execution in running:
            execution.interrupt(ShuttingDown)
        log.info("interrupted at the end of the grace time", tasks=[execution.claimed.id for execution in running])
        if self._wait_for(self._running(), _LAST_WORDS):
            return
        stuck = self._running()
        log.error("code does not stop; ending the process", tasks=[execution.claimed.id for execution in stuck])
        for execution in stuck:
            self._abandon(execution)
        self.close()
        os._exit(0)

    def close(self) -> None:
        with self._moving:
            self._closing.set()
        if self._opened:
            self.desk.drain(timeout=10)
            for part in (self.desk, self._sweeper, self._watch, self._pulse):
                part.stop()
            self._say_goodbye()
        close_database()

    # The end, because code does not stop.

    def replace(self, reason: str) -> None:
        """Gives everything back and puts a new process in the place of this one."""
        with self._moving:
            if self._replacing or self._closing.is_set():
                return
            self._replacing = True
        log.error("this process is replaced", reason=reason, worker=self.identity.id)
        threading.Thread(target=self._replace, name="replacement", daemon=True).start()

    def _replace(self) -> None:
        self._stop_starting()
        stuck = {id(e) for e in self._running() if e.stop is not None and time.monotonic() - e.stopped_at >= PATIENCE}
        others = [execution for execution in self._running() if id(execution) not in stuck]
        for execution in others:
            if execution.stop is None:
                execution.interrupt(ShuttingDown)
        self._wait_for(others, _LAST_WORDS)
        for execution in self._running():
            self._abandon(execution)
        self.desk.drain(timeout=5)
        self._say_goodbye()
        if self._shutting_down:
            os._exit(0)
        replace_process()

    # What both need.

    def _stop_starting(self) -> None:
        self.desk.stop_claiming()
        for execution in list(self.desk.executions.values()):
            if execution.give_back():
                self.desk.post(settlements.released(execution.claimed))

    def _abandon(self, execution: Execution) -> None:
        """Its end is written although its code runs on: the process, and the code with it, ends in a moment."""
        if execution.lost or execution.settled:
            return
        execution.settled = True
        if execution.request is not None:
            execution.add_stage("stopped", how="its process was replaced")
        if execution.request is None and time.monotonic() >= execution.deadline:
            overdue = TimeLimitExceeded("The code did not stop; its process was replaced.")
            self.desk.post(settlements.failed(execution.claimed, overdue))
        else:
            self.desk.post(settlements.released(execution.claimed))

    def _running(self) -> list[Execution]:
        executions = list(self.desk.executions.values())
        return [execution for execution in executions if not (execution.finished or execution.given_back)]

    def _wait_for(self, executions: Sequence[Execution], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while any(not execution.finished for execution in executions) and time.monotonic() < deadline:
            time.sleep(0.02)
        return all(execution.finished for execution in executions)

    def _say_goodbye(self) -> None:
        with suppress(NotReady, *RETRYABLE):  # otherwise the others will see that we are gone
            workers.stopped([self.identity.id])
        flush_bell()


_current: Workplace | None = None


def set_current(workplace: Workplace | None) -> None:
    global _current
    _current = workplace


def current() -> Workplace:
    if _current is None:
        raise RuntimeError("Tasks run in worker processes: start them with `dramatiq actors`.")
    return _current
