"""How long tasks have waited. The claim does not return it: the heartbeat asks for all tasks that were claimed since
the last pulse, in one statement and off the path of the tasks."""

from collections import deque
from collections.abc import Iterable

from broker.metrics.measurements import is_enabled, note_waits
from state.database import Connection
from state.workers.leases import Claimed
from state.workers.waits import read_waits

_MOST = 5000  # for which it asks at once; more are dropped, so that a process without an answer does not fill up


class Waits:
    def __init__(self) -> None:
        self._claimed: deque[tuple[str, int]] = deque(maxlen=_MOST)

    def add(self, claimed: Iterable[Claimed]) -> None:
        """Called by the dispatcher."""
        if is_enabled():
            self._claimed.extend((each.id, each.epoch) for each in claimed)

    def measure(self, connection: Connection) -> None:
        """Called by the heartbeat."""
        keys = [self._claimed.popleft() for _ in range(len(self._claimed))]
        if keys:
            note_waits(read_waits(connection, keys))
