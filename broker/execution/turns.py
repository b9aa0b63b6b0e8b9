"""Turns in ctx.transaction(). Each transaction holds a connection, so only a few coroutines of a process are in one at
once. The others wait for their turn in order: on the event loop, or in the thread of their sync code."""

import threading
from collections import deque
from concurrent.futures import Future

Turn = Future[None]  # done when it has come


class Turns:
    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[Turn] = deque()
        self._lock = threading.Lock()

    def ask(self) -> Turn:
        """Returns a turn, which must be given back once, whether it has come or not."""
        turn: Turn = Future()
        with self._lock:
            self._waiting.append(turn)
            self._call_next()
        return turn

    def give_back(self, turn: Turn) -> None:
        if not turn.cancel():  # it has come
            with self._lock:
                self._free += 1
                self._call_next()

    def _call_next(self) -> None:
        """Called with the lock held."""
        while self._free and self._waiting:
            turn = self._waiting.popleft()
            if turn.set_running_or_notify_cancel():
                self._free -= 1
                turn.set_result(None)
