"""The watch: looks twice a second for code that runs too long, does not stop when told to, or has lost its lease. A
thread of its own, and without the database: the pulse may hang in a connection that is dead."""

import threading
import time
from collections.abc import Callable

from broker.desk import Desk
from broker.execution import Execution
from broker.interrupts import CancelRequested, TimeLimitExceeded
from broker.pulse import Pulse
from state.logs import log
from state.settings import get_settings

_EVERY = 0.5
PATIENCE = 3.0  # seconds in which code should stop when it is told to; then it is reported, and with force it must
AGAIN = 10.0  # seconds between two interrupts: code may need some to clean up, and it may have swallowed the first
OVERDUE = 30.0  # seconds after which code that nobody can stop costs its process


class Watch:
    def __init__(self, desk: Desk, pulse: Pulse, replace: Callable[[str], None]) -> None:
        settings = get_settings()
        self._desk = desk
        self._pulse = pulse
        self._replace = replace
        self._every = min(_EVERY, settings.pulse_seconds)
        # Stop one's own work before the lease ends, not when it ends.
        self._silence_allowed = settings.lease_seconds - min(5.0, settings.lease_seconds / 3)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                silent = self._pulse.silent_seconds > self._silence_allowed
                for execution in list(self._desk.executions.values()):
                    if execution.finished:
                        continue
                    if silent:
                        self._desk.lose(execution)
                    if execution.started_at is not None:
                        self._look_at(execution, time.monotonic())
            except Exception:
                log.exception("watch: unexpected error", worker=self._desk.worker)

    def _look_at(self, execution: Execution, now: float) -> None:
        if execution.stop is None:
            if now >= execution.deadline:
                execution.interrupt(TimeLimitExceeded)
            return
        ignored = now - execution.stopped_at
        if ignored >= PATIENCE:
            self._report(execution, ignored)
            if execution.request == "force":
                self._replace("a task was stopped by force")
        # Code without a lease works against its successor; code beyond its time limit would keep its thread for ever.
        if (execution.lost and ignored >= OVERDUE) or now - execution.deadline >= OVERDUE:
            self._replace("code does not stop")
        if now - execution.struck_at >= AGAIN:
            execution.interrupt_again()

    def _report(self, execution: Execution, ignored: float) -> None:
        if execution.reported:
            return
        execution.reported = True
        where = execution.running.where()
        log.warning("code does not stop", task_id=execution.claimed.id, actor=execution.claimed.actor, where=where)
        if execution.stop is CancelRequested:
            execution.add_stage("still running", seconds=round(ignored, 1), where=where)
            self._desk.note()
