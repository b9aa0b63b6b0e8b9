"""Waits for a condition, never for luck."""

import time
from collections.abc import Callable
from typing import Literal, TypeVar

_R = TypeVar("_R")

_PATIENCE = 3  # a busy machine takes several times as long; a condition that comes true costs no more for it


def eventually(
    condition: Callable[[], _R | Literal[False] | None], timeout: float = 30.0, every: float = 0.02, what: str = ""
) -> _R:
    """The first true value of the condition; a failure that shows its last value otherwise."""
    deadline = time.monotonic() + timeout * _PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout * _PATIENCE} s: {what or condition}; last value: {value!r}")
        time.sleep(every)
