"""One task in this process, from the claim until its end is written."""

import threading
import time
from typing import Any

from dramatiq.middleware import raise_thread_exception

from broker.interrupts import Stopped
from state.claims import Claimed, Report

PROGRESS_GAP = 0.25  # seconds between two progress lines of a task
EVENT_GAP = 0.05  # seconds between two writes of emitted lines
_BUFFERED_LINES = 1000


class Execution:
    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.claimed_at = time.monotonic()
        self.started_at: float | None = None
        self.finished = False
        self.given_back = False
        self.lost = False
        self.stop: type[Stopped] | None = None
        self.flushed = threading.Condition()
        self._thread: int | None = None
        self._delivered = False
        self._report = Report(claimed.id, claimed.epoch)
        self._next_progress = 0.0
        self._next_event = 0.0

    # The thread that runs the task.

    def begin(self) -> bool:
        """False: it was given back before a thread was free."""
        with self.flushed:
            if self.given_back or self.lost:
                return False
            self.started_at = time.monotonic()
            self._thread = threading.get_ident()
            return True

    def end(self) -> None:
        """From here on no interrupt may hit this thread: it runs something else next. One that is already on its way
        is awaited, or it would strike there."""
        with self.flushed:
            self._thread = None
            expected = self.stop is not None and not self._delivered
        if expected:
            try:
                deadline = time.monotonic() + 1
                while time.monotonic() < deadline:
                    time.sleep(0.001)
            except Stopped:
                pass

    def received(self) -> None:
        self._delivered = True

    @property
    def elapsed_ms(self) -> int:
        return int((time.monotonic() - (self.started_at or self.claimed_at)) * 1000)

    # What the running code says.

    def set_progress(self, progress: dict[str, Any]) -> None:
        with self.flushed:
            self._report.progress = progress

    def add_event(self, kind: str, data: dict[str, Any]) -> None:
        with self.flushed:
            if len(self._report.events) >= _BUFFERED_LINES:  # the writer is behind: do not fill the memory
                self.flushed.wait(timeout=30)
            self._report.events.append({"kind": kind, "data": data})

    def add_usage(self, tokens: int, cost: float) -> None:
        with self.flushed:
            self._report.tokens += tokens
            self._report.cost += cost

    def take_report(self, now: float, *, final: bool = False) -> Report | None:
        """What is due to be written, in its order; None when there is nothing or it is too early."""
        with self.flushed:
            report = self._report
            progress_due = report.progress is not None and (final or now >= self._next_progress)
            events_due = bool(report.events) and (final or now >= self._next_event)
            if not progress_due and not events_due and not (final and (report.tokens or report.cost)):
                return None
            taken = Report(report.id, report.epoch, tokens=report.tokens, cost=report.cost, events=report.events)
            kept = report.progress
            if progress_due and report.progress is not None:
                taken.progress, kept = report.progress, None
                taken.events = [*report.events, {"kind": "progress", "data": report.progress}]
                self._next_progress = now + PROGRESS_GAP
            self._report = Report(report.id, report.epoch, progress=kept)
            self._next_event = now + EVENT_GAP
            self.flushed.notify_all()
            return taken

    @property
    def has_news(self) -> bool:
        return self._report.progress is not None or bool(self._report.events)

    # Everybody else.

    def interrupt(self, reason: type[Stopped]) -> bool:
        """Stops the running code, once. False when it does not run, or was stopped before."""
        with self.flushed:
            if self.stop is not None:
                return False
            self.stop = reason
            if self._thread is None:
                return False
            raise_thread_exception(self._thread, reason)
            return True

    def give_back(self) -> bool:
        """True when no thread had taken it yet; then none will."""
        with self.flushed:
            if self.started_at is not None or self.given_back:
                return False
            self.given_back = True
            return True
