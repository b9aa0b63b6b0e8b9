"""Silence: a lease ends only when its worker has also been silent for that long on a clock that nobody steps."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple


class Sign(NamedTuple):
    """A worker's last sign of life, as the database has it."""

    seen_at: datetime | None
    renewed_at: datetime | None  # the newest of its leases


class Silence:
    """Remembers each worker's last sign of life, and since when it has been the same on this process's own clock. A new
    observer knows nothing of what was before it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._unchanged_since: dict[str, tuple[Sign, float]] = {}

    def observe(self, signs: Mapping[str, Sign]) -> dict[str, Sign]:
        """Returns those that have been silent for too long. Workers that are not named any more are forgotten."""
        now = self._clock()
        before = self._unchanged_since
        self._unchanged_since = {
            worker: before[worker] if worker in before and before[worker][0] == sign else (sign, now)
            for worker, sign in signs.items()
        }
        return {worker: sign for worker, (sign, since) in self._unchanged_since.items() if now - since >= self._seconds}
