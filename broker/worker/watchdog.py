"""The watchdog: looks a few times a second for code that runs too long, does not stop when told to, or has lost its
lease. It has a thread of its own and does not use the database, because the heartbeat can hang in a dead connection."""

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
STOP_SECONDS = 3.0  # for code to stop when told to; then it is reported, and with force its process is replaced
REPEAT_SECONDS = 10.0  # between two interrupts: code may need time to clean up, or may have caught the first one
OVERDUE_SECONDS = 30.0  # after the time limit; then the process of code that does not stop is replaced
_WITHOUT_LEASE = 1.5  # seconds for code without a lease to stop: another process may run the task already

Replace = Callable[..., None]


class Watchdog:
    def __init__(self, held: HeldTasks, replace: Replace) -> None:
        settings = get_settings()
        self._held = held
        self._replace = replace
        self._every = min(_EVERY, settings.pulse_seconds / 2)
        # Code is told to stop well before its lease ends. If it does not stop, its process ends just before the lease.
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
                self._check_all()
            except Exception:
                log.exception("watchdog: unexpected error", worker=self._held.worker)

    def _check_all(self) -> None:
        self._held.set_timer()
        now = boot_time()
        for execution in self._held.executions():
            left = execution.lease_end - now
            if left <= self._stop_before:
                self._held.lose(execution, gone=left <= 0)
        for execution in self._held.running():
            self._check(execution, time.monotonic())

    def _check(self, execution: Execution, now: float) -> None:
        if execution.stop is None:
            if now >= execution.deadline:
                execution.interrupt(TimeLimitExceeded)
            return
        ignored = now - execution.stop_requested_at
        if execution.state == "lost" and self._must_end_now(execution, ignored):
            self._replace("code runs without a lease", quick=True)
        if ignored >= STOP_SECONDS:
            self._report(execution, ignored)
            if execution.request == "force":
                self._replace("a task was stopped by force")
        if now - execution.deadline >= OVERDUE_SECONDS:  # otherwise it would occupy its thread for ever
            self._replace("code does not stop")
        if now - execution.interrupted_at >= REPEAT_SECONDS:
            execution.interrupt_again()

    def _must_end_now(self, execution: Execution, ignored: float) -> bool:
        """Returns whether the process of code that was told to stop must be replaced, because the lease ends or has
        ended."""
        if execution.lease_is_gone:
            return ignored >= _WITHOUT_LEASE
        return execution.lease_end - boot_time() <= self._end_before or ignored >= OVERDUE_SECONDS

    def _report(self, execution: Execution, ignored: float) -> None:
        if execution.reported_as_running:
            return
        execution.reported_as_running = True
        where = execution.code.where()
        log.warning("code does not stop", task_id=execution.claimed.id, actor=execution.claimed.actor, where=where)
        if execution.stop is CancelRequested and execution.state == "running":
            execution.add_stage("still running", seconds=round(ignored, 1), where=where)
            self._held.wakeup.set()
