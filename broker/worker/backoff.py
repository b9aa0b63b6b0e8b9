"""Delays between tries to get a lock that another transaction holds: short at first, then longer."""

import random

_FIRST = 0.01
_LONGEST = 0.3


class Backoff:
    def __init__(self) -> None:
        self._seconds = _FIRST

    def next(self) -> float:
        """Returns the seconds until the next try."""
        seconds, self._seconds = self._seconds, min(self._seconds * 2, _LONGEST)
        return seconds * random.uniform(0.5, 1.5)  # noqa: S311

    def reset(self) -> None:
        self._seconds = _FIRST
