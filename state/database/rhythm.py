"""How often something may happen: at most so often over time, but a few times at once after a pause."""

import time

AT_ONCE = 8


class Rhythm:
    """Not for several threads at once: its owner has a lock, or is one thread."""

    def __init__(self, gap: float) -> None:
        self._gap = gap  # seconds between two times, on average
        self._next = 0.0  # when the next time would be due if none came early

    def wait(self) -> float:
        """Returns how many seconds are left until it may happen; 0 or less: it may happen now."""
        return self._next - (AT_ONCE - 1) * self._gap - time.monotonic()

    def note(self) -> None:
        """It happens now."""
        self._next = max(self._next, time.monotonic()) + self._gap
