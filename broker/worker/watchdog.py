"""The watchdog: looks a few times a second for code that runs too long, does not stop when told to, or has lost its
lease. A thread of its own, and without the database: the heartbeat may hang in a connection that is dead."""

import threading
import time
from collections.abc import Callable

from broker.execution.clocks import boot_time
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.interrupts import CancelRequested, TimeLimitExceeded
from state.logs import log
from state.settings import get_settings

_EVERY = 0.25
PATIENCE = 3.0  # seconds in which code should stop when it is told to; then it is reported, and with force it must
AGAIN = 10.0  # seconds between two interrupts: code may need some to clean up, and it may have swallowed the first
OVERDUE = 30.0  # seconds after which code that nobody can stop costs its process
_WITHOUT_LEASE = 1.5  # seconds in which code without a lease must stop: its successor may run already

Replace = Callable[..., None]


class Watchdog:
    def __init__(self, held: HeldTasks, replace: Replace) -> None:
        settings = get_settings()
        self._held = held
        self._replace = replace
        self._every = min(_EVERY, settings.pulse_seconds / 2)
        # Code is told to stop well before its lease ends, and ended with its process a moment before.
        self._stop_before = min(10.0, settings.lease_seconds / 2)
        self._end_before = min(3.0, settings.lease_seconds / 4)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                self._look()
            except Exception:
                log.exception("watchdog: unexpected error", worker=self._held.worker)

    def _look(self) -> None:
        self._held.set_timer()
        now = boot_time()
        for execution in self._held.executions():
            left = self._held.lease_until(execution) - now
            if left <= self._stop_before:
                self._held.lose(execution, gone=left <= 0)
        for execution in self._held.running():
            self._look_at(execution, time.monotonic())

    def _look_at(self, execution: Execution, now: float) -> None:
        if execution.stop is None:
            if now >= execution.deadline:
                execution.interrupt(TimeLimitExceeded)
            return
        ignored = now - execution.stopped_at
        if execution.state == "lost" and self._is_at_its_end(execution, ignored):
            self._replace("code runs without a lease", quick=True)
        if ignored >= PATIENCE:
            self._report(execution, ignored)
            if execution.request == "force":
                self._replace("a task was stopped by force")
        if now - execution.deadline >= OVERDUE:  # it would keep its thread for ever
            self._replace("code does not stop")
        if now - execution.struck_at >= AGAIN:
            execution.interrupt_again()

    def _is_at_its_end(self, execution: Execution, ignored: float) -> bool:
        """Whether code that has been told to stop must go with its process, because its lease ends or has ended."""
        if execution.lease_is_gone:
            return ignored >= _WITHOUT_LEASE
        return self._held.lease_until(execution) - boot_time() <= self._end_before or ignored >= OVERDUE

    def _report(self, execution: Execution, ignored: float) -> None:
        if execution.reported:
            return
        execution.reported = True
        where = execution.code.where()
        log.warning("code does not stop", task_id=execution.claimed.id, actor=execution.claimed.actor, where=where)
        if execution.stop is CancelRequested and execution.state == "running":
            execution.add_stage("still running", seconds=round(ignored, 1), where=where)
            self._held.wakeup.set()
