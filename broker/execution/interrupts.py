"""Interrupts: how running code is stopped from outside. An interrupt is an exception that is raised in the thread of
the code; an async actor's coroutine is canceled instead.

Interrupts are no subclasses of `Exception`, so that `except Exception` does not catch them. Code may catch an
interrupt to clean up, and should raise it again."""

import ctypes
import threading
from collections.abc import Callable

from dramatiq.middleware import Interrupt, TimeLimitExceeded, raise_thread_exception


class Stopped(Interrupt):
    """Base class: Callboard wants this execution to end now. Everything that was saved is kept."""


class CancelRequested(Stopped):
    """A pause or a cancel was requested; `ctx.request` says which."""


class ShuttingDown(Stopped):
    """The process ends. The task goes back to the queue and keeps its attempt."""


class LeaseGone(Stopped):
    """This process no longer owns the task, and nothing more may be written for it."""


class NotStarted(Stopped):
    """The task must not start now. Raised by a check before its code runs; the task goes back to the queue."""


def raise_in_thread(thread: int, reason: type[Interrupt], on_raised: Callable[[], None]) -> None:
    """Raises `reason` in another thread as soon as that thread runs Python code. `on_raised` is called in that thread
    at that moment, because the interpreter makes the instance of the class only then."""

    def initialize(self: Interrupt) -> None:
        BaseException.__init__(self)
        on_raised()

    members = {"__init__": initialize, "__module__": reason.__module__}
    raise_thread_exception(thread, type(reason.__name__, (reason,), members))


def clear_pending_interrupt() -> None:
    """Withdraws an interrupt that is pending for the calling thread and was not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object())


def caused_by(exception: BaseException, kind: type[BaseException]) -> bool:
    """Returns whether an exception of this kind is the exception, its cause, or was being handled when it was raised;
    or is one of a group's."""
    seen: set[int] = set()
    left: list[BaseException | None] = [exception]
    while left:
        current = left.pop()
        if current is None or id(current) in seen:
            continue
        if isinstance(current, kind):
            return True
        seen.add(id(current))
        left.append(current.__cause__ or current.__context__)
        if isinstance(current, BaseExceptionGroup):
            left.extend(current.exceptions)
    return False


__all__ = [
    "CancelRequested",
    "Interrupt",
    "LeaseGone",
    "NotStarted",
    "ShuttingDown",
    "Stopped",
    "TimeLimitExceeded",
    "caused_by",
    "clear_pending_interrupt",
    "raise_in_thread",
]
