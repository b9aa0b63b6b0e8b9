"""An execution: one attempt of a task inside this process, from its claim until its end is written. Its key is (task
id, epoch)."""

import math
import threading
import time
from typing import Any, Literal, Protocol
from weakref import WeakSet

from broker.execution.clocks import boot_time
from broker.execution.interruptible import Interruptible
from broker.execution.interrupts import Interrupt
from state.workers.leases import Claimed, Report

PROGRESS_GAP = 0.25  # seconds between two progress events of a task
EVENT_GAP = 0.05  # seconds between two writes of emitted events
_BUFFERED_EVENTS = 1000
_WITHOUT_LEASE = 3.0  # seconds that code has to stop after its lease is gone

Key = tuple[str, int]
State = Literal["claimed", "running", "ending", "given back", "abandoned", "lost", "over"]

# The state decides whether this process may still write for the task. HeldTasks makes the moves under its lock, so each
# move has exactly one winner.
MOVES: dict[State, frozenset[State]] = {
    "claimed": frozenset({"running", "given back", "lost"}),
    "running": frozenset({"ending", "abandoned", "lost"}),
    "ending": frozenset({"running", "over"}),  # running again: the transaction that should end it was rolled back
    "given back": frozenset({"over"}),
    "abandoned": frozenset({"over"}),  # another process writes its end when this one is gone
    "lost": frozenset({"over"}),  # when its code has ended
    "over": frozenset(),
}


class IllegalMove(Exception):
    pass


class StartCheck(Protocol):
    """Called with the validated request before the code of a task. Raises NotStarted."""

    def is_needed(self, execution: "Execution", request: Any) -> bool: ...  # waits for nothing
    def __call__(self, execution: "Execution", request: Any) -> None: ...


class Execution:
    def __init__(self, claimed: Claimed, lease_until: float = math.inf, *, is_async: bool = False) -> None:
        self.claimed = claimed
        self.is_async = is_async  # it runs as a coroutine, and occupies no thread
        self.key: Key = (claimed.id, claimed.epoch)
        self.state: State = "claimed"
        self.lease_until = lease_until  # on the boot clock; a heartbeat extends it
        self.gone_at = math.inf  # when this process learned that the lease is gone, on the boot clock
        self.claimed_at = time.monotonic()
        self.started_at: float | None = None
        self.deadline = math.inf  # the actor's time limit
        self.request: str | None = None  # the request of a user: pause, cancel or force
        self.stop: type[Interrupt] | None = None
        self.stop_requested_at = 0.0  # when its code was first told to stop
        self.interrupted_at = 0.0  # when its code was last told to stop
        self.reported_as_running = False  # after it was told to stop
        self.blocks_loop_at: str | None = None  # the line of source at which it blocks the event loop
        self.code = Interruptible()
        self.children: WeakSet[Any] | None = None  # asyncio tasks that its code has started
        self._lock = threading.Lock()
        self._flushed: threading.Condition | None = None  # made for the first thread that waits: few tasks need one
        self._tokens = claimed.tokens
        self._report = Report(claimed.id, claimed.epoch, 1)
        self._in_flight = False  # a report is being written
        self._urgent = False  # a thread waits until everything is written
        self._next_progress = 0.0
        self._next_event = 0.0

    @property
    def lease_is_gone(self) -> bool:
        return self.gone_at < math.inf

    @property
    def lease_end(self) -> float:
        """On the boot clock; 0 if the lease is certainly gone."""
        return 0.0 if self.lease_is_gone else self.lease_until

    @property
    def holds_lease(self) -> bool:
        return boot_time() < self.lease_end

    @property
    def kill_time(self) -> float:
        """When its code must be gone, on the boot clock."""
        return self.gone_at + _WITHOUT_LEASE if self.lease_is_gone else self.lease_until

    def move(self, after: State) -> None:
        """Only HeldTasks may call this."""
        if after not in MOVES[self.state]:
            raise IllegalMove(f"{self.key}: {self.state} -> {after}")
        self.state = after

    # Called by the thread that runs the task.

    def enter_code(self) -> None:
        """Interrupts can be raised in the calling thread from here on."""
        self.code.begin()
        if self.stop is not None:
            raise self.stop

    @property
    def elapsed_ms(self) -> int:
        return int((time.monotonic() - (self.started_at or self.claimed_at)) * 1000)

    # Called by the running code, through its context.

    def set_progress(self, progress: dict[str, Any]) -> None:
        with self._lock:
            self._report.progress = progress

    def add_event(self, kind: str, data: dict[str, Any], *, wait: bool = False) -> None:
        """Adds an event. With `wait`, waits while too many events are unwritten, so that the memory does not fill
        up."""
        with self._lock:
            if wait and not self.has_room:
                self._get_flushed().wait(timeout=30)
            self._report.events.append({"kind": kind, "data": data})

    @property
    def has_room(self) -> bool:
        """Whether few enough events are unwritten."""
        return len(self._report.events) < _BUFFERED_EVENTS

    def add_stage(self, stage: str, **data: Any) -> None:
        """Adds an event for a stage of a pause or a cancel."""
        self.add_event("control", {"stage": stage, "request": self.request, **data})

    def add_usage(self, tokens: int, cost: float) -> int:
        """Returns the tokens that the task has used, in this attempt and in the earlier ones."""
        with self._lock:
            self._report.tokens += tokens
            self._report.cost += cost
            self._tokens += tokens
            return self._tokens

    @property
    def tokens(self) -> int:
        return self._tokens

    def wait_written(self, timeout: float) -> bool:
        """Waits until all events, progress and usage are written. Returns False if the time runs out first."""
        with self._lock:
            self._urgent = True
            return self._get_flushed().wait_for(self._all_written, timeout)

    def _get_flushed(self) -> threading.Condition:
        """Called with the lock held."""
        if self._flushed is None:
            self._flushed = threading.Condition(self._lock)
        return self._flushed

    def _all_written(self) -> bool:
        return not (self._in_flight or self.has_unwritten or self._report.tokens or self._report.cost)

    # Called by the reporter.

    def take_report(self, now: float, *, final: bool = False) -> Report | None:
        """Returns the report that is due; None if there is nothing to report, or if it is too early."""
        with self._lock:
            report = self._report
            final = final or self._urgent
            progress_due = report.progress is not None and (final or now >= self._next_progress)
            events_due = bool(report.events) and (final or now >= self._next_event)
            if not progress_due and not events_due and not (final and (report.tokens or report.cost)):
                return None
            self._report = Report(report.id, report.epoch, report.number + 1)
            if progress_due:
                report.events.append({"kind": "progress", "data": report.progress})
                self._next_progress = now + PROGRESS_GAP
            else:
                self._report.progress, report.progress = report.progress, None
            self._next_event = now + EVENT_GAP
            self._in_flight = True
            return report

    def note_report_written(self) -> None:
        with self._lock:
            self._in_flight = False
            if self._flushed is not None:
                self._flushed.notify_all()

    @property
    def has_unwritten(self) -> bool:
        return self._report.progress is not None or bool(self._report.events)

    # Called by other threads.

    def interrupt(self, reason: type[Interrupt]) -> bool:
        """Stops the running code. Returns False if it does not run, or was stopped for this reason before."""
        with self._lock:
            if self.stop is reason or self.state == "over":
                return False
            self.stop = reason
            self.stop_requested_at = time.monotonic()
            self.reported_as_running = False
        return self.interrupt_again()

    def interrupt_again(self) -> bool:
        """Stops code that has caught the interrupt and goes on."""
        self.interrupted_at = time.monotonic()
        return self.stop is not None and self.code.interrupt(self.stop)
