"""When a request is sent again, and after which pause."""

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST, _LONGEST = 0.2, 5.0  # seconds
_TEMPORARY = frozenset((429, 502, 503, 504))


class Backoff:
    """Pauses that grow, with jitter, until `patience` seconds have passed since the last success."""

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self.succeed()

    def succeed(self) -> None:
        self._pause = _FIRST
        self._deadline = self._clock() + self._patience

    def next_pause(self, asked: float | None = None) -> float | None:
        """Returns the seconds until the next try, or None if there is none. `asked`: what the server has asked for."""
        pause, self._pause = self._pause * random.uniform(0.5, 1.0), min(self._pause * 2, _LONGEST)  # noqa: S311
        if asked is not None:
            pause = max(asked, pause)
        return pause if self._clock() + pause <= self._deadline else None


def is_temporary(status: int) -> bool:
    return status in _TEMPORARY


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of Retry-After, which is a number or a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0) if moment.tzinfo else None
