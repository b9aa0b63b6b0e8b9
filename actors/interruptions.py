"""Interrupts are raised into the running thread, and noticed between two steps of it: what that means for waiting,
and for what must not be torn apart."""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

_R = TypeVar("_R")
_SLICE = 0.1
_STEP = 0.01


def pause(seconds: float) -> None:
    """Sleeps in slices: a single long sleep would keep an interrupt out until it ends."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE))


def uninterrupted(work: Callable[[], _R]) -> _R:
    """Runs the work to its end in a thread of its own, where no interrupt strikes. One that strikes here goes on
    after that: an answer that was paid for is not lost because somebody pressed a key while it was on its way."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = work()
        except BaseException as failed:
            outcome["failed"] = failed

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        _await(outcome)
    finally:
        if thread.ident is None:
            time.sleep(_SLICE)  # struck while it was being started
        if thread.ident is not None:
            _await(outcome)
    if "failed" in outcome:
        raise outcome["failed"]
    value: _R = outcome["value"]
    return value


def _await(outcome: dict[str, Any]) -> None:
    """Not Thread.join: an exception that strikes in there makes Python 3.11 take the thread for ended."""
    while not outcome:
        time.sleep(_STEP)
