"""Ends a thread's wait for its connection, however the two meet."""

import threading
from collections.abc import Callable
from typing import Protocol

from state.database.listener import WakePipe


class Waits(Protocol):
    def wait(self, seconds: float) -> bool: ...


class Wakeup:
    def __init__(self) -> None:
        self.wake_pipe = WakePipe()  # one of the things that the wait listens to
        self._lock = threading.Lock()
        self._set = False
        self._asleep = False

    def set(self) -> None:
        """The thread does not go to sleep before it has looked at everything again."""
        with self._lock:
            self._set = True
            if self._asleep:
                self._asleep = False  # one wake_pipe is enough
                self.wake_pipe.wake()

    def wait(self, listening: Waits, patience: Callable[[], float]) -> None:
        """Sleeps until something is heard, `set` is called or the time has passed."""
        if self._set:
            self._set = False  # the caller looks at everything after this
            return
        seconds = patience()
        with self._lock:
            if self._set:
                self._set = False
                return
            self._asleep = True
        listening.wait(seconds)
        with self._lock:
            self._asleep = self._set = False
