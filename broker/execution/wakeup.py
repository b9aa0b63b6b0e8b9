"""A wake-up: ends the wait of a thread, also if it is set just before the thread begins to wait."""

import threading
from collections.abc import Callable
from typing import Protocol

from state.database.listener import WakePipe


class Waits(Protocol):
    def wait(self, seconds: float) -> bool: ...


class Wakeup:
    def __init__(self) -> None:
        self.wake_pipe = WakePipe()  # the thread waits for this pipe and for its connection at once
        self._lock = threading.Lock()
        self._set = False
        self._asleep = False

    def set(self) -> None:
        """Wakes the thread, or keeps it from going to sleep before it has looked for work again."""
        with self._lock:
            self._set = True
            if self._asleep:
                self._asleep = False  # waking it once is enough
                self.wake_pipe.wake()

    def wait(self, listening: Waits, timeout: Callable[[], float]) -> None:
        """Sleeps until a notification arrives, `set` is called, or the timeout has passed."""
        if self._set:
            self._set = False  # the caller looks for work after this
            return
        seconds = timeout()
        with self._lock:
            if self._set:
                self._set = False
                return
            self._asleep = True
        listening.wait(seconds)
        with self._lock:
            self._asleep = self._set = False
