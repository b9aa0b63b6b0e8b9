"""The code of one task while it runs: what an interrupt can hit, and where it must not strike.

An exception that is raised into a thread strikes between any two steps, also while a lock is held or a connection is
on its way back to its pool. So it never strikes in our own code: whatever the context does is sheltered, and an
interrupt that arrives meanwhile is raised when it is left."""

import asyncio
import gc
import sys
import threading
from types import FrameType, TracebackType

from broker.execution.interrupts import Interrupt, strike, unstrike


class Interruptible:
    def __init__(self) -> None:
        # A plain lock: `with` on a Condition can lose it to an interrupt between taking it and knowing so.
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._coroutine: asyncio.Task[object] | None = None
        self._shielded = 0
        self._flying: type[Interrupt] | None = None  # raised, has not struck yet
        self._deferred: type[Interrupt] | None = None  # arrived in the shelter

    # The thread that runs the task.

    def begin(self) -> None:
        self._thread = threading.get_ident()

    def end(self) -> None:
        """From here on no interrupt can hit this thread: it runs something else next."""
        while True:
            try:
                with self._lock:
                    self._thread = self._coroutine = self._deferred = None
                    if self._flying is not None:
                        unstrike()
                        self._flying = None
                return
            except Interrupt:  # the last one, just before it was taken back
                continue

    def shield(self) -> "Shield":
        return Shield(self)

    def enter(self) -> None:
        before = self._shielded
        try:
            with self._lock:
                self._shielded = before + 1
                caught, self._flying = self._flying, None
                if caught is not None:
                    unstrike()
        except Interrupt:
            self._shielded = before
            raise
        if caught is not None:
            self._shielded = before
            raise caught

    def leave(self) -> None:
        with self._lock:
            self._shielded -= 1
            due = None
            if self._shielded == 0:
                due, self._deferred = self._deferred, None
        if due is not None:
            raise due

    def is_mine(self) -> bool:
        """Whether the calling thread is the one that can be struck."""
        return self._thread == threading.get_ident()

    # The event loop's thread, for async actors: they are canceled, and no thread is struck.

    def move_to_loop(self) -> None:
        with self.shield(), self._lock:
            self._thread = None

    def attach(self, coroutine: "asyncio.Task[object]") -> None:
        with self._lock:
            self._loop, self._coroutine = coroutine.get_loop(), coroutine

    # Everybody else.

    def interrupt(self, reason: type[Interrupt]) -> bool:
        """Stops the code. False when it does not run."""
        with self._lock:
            if self._coroutine is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._coroutine.cancel)
                return True
            if self._thread is None:
                return False
            if self._shielded:
                self._deferred = reason
            else:
                self._flying = reason
                strike(self._thread, reason, self._struck)
            return True

    def _struck(self) -> None:
        self._flying = None

    def where(self) -> str:
        """The line that the code is at, for whoever wonders why it does not stop."""
        with self._lock:
            if self._coroutine is not None:
                stack = self._coroutine.get_stack(limit=1)
                frame: FrameType | None = stack[0] if stack else None
            else:
                frame = _frame_of(self._thread) if self._thread is not None else None
        return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}" if frame else "unknown"


def _frame_of(thread: int) -> FrameType | None:
    """Without the garbage collector: before Python 3.11.9, one that runs in the middle of _current_frames can stop the
    whole process for ever (CPython's issue 106883)."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collecting:
            gc.enable()


class Shield:
    """`with code.shield():` no interrupt strikes in here."""

    def __init__(self, code: Interruptible) -> None:
        self._code = code if code.is_mine() else None

    def __enter__(self) -> None:
        if self._code is not None:
            self._code.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._code is not None:
            self._code.leave()
