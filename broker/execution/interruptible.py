"""The code of one task while it runs: how it is interrupted, and where it must not be.

An exception that is raised in a thread from outside can come between any two steps, also while a lock is held or a
connection is on its way back to its pool. So it is never raised in our own code: everything that the context does is
shielded, and an interrupt that arrives inside a shield is raised when the shield is left."""

import asyncio
import gc
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from broker.execution.interrupts import Interrupt, clear_pending_interrupt, raise_in_thread


class Interruptible:
    def __init__(self) -> None:
        # A plain lock: an interrupt inside `with` on a Condition can leave the Condition locked for ever.
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._coroutine: asyncio.Task[Any] | None = None
        self._shielded = 0
        self._pending: type[Interrupt] | None = None  # sent to the thread, not raised there yet
        self._deferred: type[Interrupt] | None = None  # arrived inside a shield

    # Called by the thread that runs the task.

    def begin(self) -> None:
        self._thread = threading.get_ident()

    def end(self) -> None:
        """No interrupt reaches this thread after this call: the thread runs something else next."""
        while True:
            try:
                with self._lock:
                    self._thread = self._deferred = None
                    if self._pending is not None:
                        clear_pending_interrupt()
                        self._pending = None
                return
            except Interrupt:  # raised just before it could be cleared
                continue

    def shield(self) -> "Shield":
        return Shield(self)

    def enter_shield(self) -> None:
        before = self._shielded
        try:
            with self._lock:
                self._shielded = before + 1
                caught, self._pending = self._pending, None
                if caught is not None:
                    clear_pending_interrupt()
        except Interrupt:
            self._shielded = before
            raise
        if caught is not None:
            self._shielded = before
            raise caught

    def leave_shield(self) -> None:
        with self._lock:
            self._shielded -= 1
            due = None
            if self._shielded == 0:
                due, self._deferred = self._deferred, None
        if due is not None:
            raise due

    def runs_here(self) -> bool:
        """Returns whether interrupts are raised in the calling thread."""
        return self._thread == threading.get_ident()

    # Called for async actors, by the thread of the event loop: their coroutine is canceled, no thread is interrupted,
    # unless the coroutine waits for a function in a thread.

    def attach(self, coroutine: "asyncio.Task[Any]") -> None:
        with self._lock:
            self._loop, self._coroutine = coroutine.get_loop(), coroutine

    def detach(self) -> None:
        with self._lock:
            self._coroutine = None

    # Called by other threads.

    def interrupt(self, reason: type[Interrupt]) -> bool:
        """Stops the code. Returns False if it does not run."""
        with self._lock:
            if self._thread is None:
                if self._coroutine is None or self._loop is None:
                    return False
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._coroutine.cancel)
                return True
            if self._shielded:
                self._deferred = reason
            else:
                self._pending = reason
                raise_in_thread(self._thread, reason, self._forget_pending)
            return True

    def _forget_pending(self) -> None:
        self._pending = None

    def where(self) -> str:
        """Returns the line of source that the code is at: it explains why code does not stop."""
        with self._lock:
            if self._thread is not None:
                return describe_frame(frame_of(self._thread))
            return describe_frame(None if self._coroutine is None else _find_awaiting_frame(self._coroutine))


def describe_frame(frame: FrameType | None) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}" if frame else "unknown"


def _find_awaiting_frame(task: "asyncio.Task[Any]") -> FrameType | None:
    """Returns the innermost frame: a task itself knows only its outermost coroutine."""
    frame: FrameType | None = None
    awaited: Any = task.get_coro()
    while (inner := getattr(awaited, "cr_frame", None)) is not None:
        frame, awaited = inner, awaited.cr_await
    return frame


def frame_of(thread: int) -> FrameType | None:
    """Keeps the garbage collector off: before Python 3.11.9, a collection in the middle of _current_frames can stop the
    whole process for ever (CPython's issue 106883)."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collecting:
            gc.enable()


class Shield:
    """`with code.shield():` no interrupt is raised inside the block."""

    def __init__(self, code: Interruptible) -> None:
        self._code = code if code.runs_here() else None

    def __enter__(self) -> None:
        if self._code is not None:
            self._code.enter_shield()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._code is not None:
            self._code.leave_shield()
