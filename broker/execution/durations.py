"""How long each actor takes in this process. Tasks of short actors may be claimed ahead."""

import threading

_SHORT = 0.005  # seconds: tasks of a few milliseconds
LONG = 0.05  # seconds; also how much work may be claimed ahead
_SAMPLES = 16  # measured before an actor is trusted
_MOST = 160  # tasks claimed ahead, however short


class Durations:
    def __init__(self) -> None:
        self._averages: dict[str, tuple[int, float]] = {}
        self._short: dict[str, float] | None = None  # computed on demand
        self._changed: set[str] = set()
        self._lock = threading.Lock()

    def note(self, actor: str, seconds: float) -> None:
        with self._lock:
            count, average = self._averages.get(actor, (0, seconds))
            self._changed.add(actor)
            self._short = None
            self._averages[actor] = (count + 1, average + (seconds - average) * 0.1)

    def take_changes(self) -> dict[str, float]:
        """Returns the averages that have changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return {actor: self._averages[actor][1] for actor in changed}

    def get_short_actors(self) -> dict[str, float]:
        with self._lock:
            if self._short is None:
                self._short = {
                    actor: average
                    for actor, (count, average) in self._averages.items()
                    if count >= _SAMPLES and average < _SHORT
                }
            return self._short

    @staticmethod
    def count_ahead(short: dict[str, float], threads: int) -> int:
        """Returns how many short tasks may be claimed beyond the free threads: about 50 ms of work for all threads."""
        if not short or threads < 1:
            return 0
        slowest = max(*short.values(), 0.0001)
        return min(int(LONG / slowest) * threads, _MOST)
