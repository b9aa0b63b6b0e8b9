"""For code that is not async: providers that wait for the network are."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

_STEP = 0.1  # seconds that an interrupt of the calling thread may have to wait

_loop: asyncio.AbstractEventLoop | None = None
_starting = threading.Lock()


def wait_for(call: Coroutine[Any, Any, _T]) -> _T:
    """Runs a call of a provider to its end, and returns what it returns. The call runs on an event loop in a thread of
    its own: an exception that interrupts the calling thread cannot get lost in the loop, and cancels the call."""
    answer = asyncio.run_coroutine_threadsafe(call, _get_loop())
    try:
        while True:
            try:
                return answer.result(_STEP)
            except TimeoutError:
                if answer.done():  # the call's own
                    raise
    except BaseException:
        answer.cancel()
        raise


def _get_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="providers", daemon=True).start()
        return _loop


def _forget_after_fork() -> None:
    global _loop, _starting
    _loop, _starting = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
