"""Why running code is stopped from outside: an exception raised into its thread, or its coroutine is canceled.

They are no `Exception`s, so that `except Exception` does not swallow them. Code may catch one to clean up, and should
let it go on."""

import ctypes
import threading
from collections.abc import Callable

from dramatiq.middleware import Interrupt, TimeLimitExceeded, raise_thread_exception


class Stopped(Interrupt):
    """Base: Callboard wants this execution to end now. What it has saved is kept."""


class CancelRequested(Stopped):
    """Somebody asked for it: `ctx.request` says whether to pause or to cancel."""


class ShuttingDown(Stopped):
    """The process ends; the task goes back to the queue and keeps its attempt."""


class LeaseGone(Stopped):
    """The task belongs to somebody else by now. Nothing more may be written for it."""


def strike(thread: int, reason: type[Interrupt], struck: Callable[[], None]) -> None:
    """Raises `reason` in another thread, when it next runs Python code. `struck` is called there at that moment: the
    interpreter makes an instance of the class only then."""

    def made(self: Interrupt) -> None:
        BaseException.__init__(self)
        struck()

    members = {"__init__": made, "__module__": reason.__module__}
    raise_thread_exception(thread, type(reason.__name__, (reason,), members))


def unstrike() -> None:
    """Takes back what was raised in the calling thread and has not struck yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object())


def caused_by(exception: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception came of another one: raised from it, or while it was handled."""
    seen: set[int] = set()
    current: BaseException | None = exception
    while current is not None and id(current) not in seen:
        if isinstance(current, kind):
            return True
        seen.add(id(current))
        current = current.__cause__ or current.__context__
    return False


__all__ = [
    "CancelRequested",
    "Interrupt",
    "LeaseGone",
    "ShuttingDown",
    "Stopped",
    "TimeLimitExceeded",
    "caused_by",
    "strike",
    "unstrike",
]
