"""Silence: a lease ends only if its worker has also been silent for as long on a clock that cannot be stepped."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple


class LastSeen(NamedTuple):
    """A worker's last sign of life in the database."""

    seen_at: datetime | None
    renewed_at: datetime | None  # the newest of its leases


class Silence:
    """Observes workers: remembers when each of them was last seen, and since when that has been the same on this
    process's own clock. A new observer knows nothing of the time before it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._unchanged_since: dict[str, tuple[LastSeen, float]] = {}

    def observe(self, workers: Mapping[str, LastSeen]) -> dict[str, LastSeen]:
        """Returns the workers that have been silent for too long. Forgets those that are not listed any more."""
        now = self._clock()
        before = self._unchanged_since
        self._unchanged_since = {
            worker: before[worker] if worker in before and before[worker][0] == seen else (seen, now)
            for worker, seen in workers.items()
        }
        return {worker: seen for worker, (seen, since) in self._unchanged_since.items() if now - since >= self._seconds}
