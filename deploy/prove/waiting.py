"""Waiting for something that must come true."""

import time
from collections.abc import Callable


class NotInTime(Exception):
    """Something that had to come true has not."""


def wait_until(condition: Callable[[], object], seconds: float, what: str, every: float = 0.1) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NotInTime(f"not within {seconds:g} s: {what}")
        time.sleep(every)
