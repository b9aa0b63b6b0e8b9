"""The places of one kind in a worker process: threads for sync actors, coroutines for async ones. HeldTasks owns two of
these, and calls them with its lock held."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from broker.execution.execution import Execution, Key

Deliver = Callable[[Sequence[Execution]], None]


class Places:
    def __init__(self, limit: int, deliver: Deliver) -> None:
        self.limit = limit
        self.deliver = deliver  # starts executions; called without the lock
        self.occupied: dict[Key, Execution] = {}  # their code runs
        self.plain = 0  # threads that run plain Dramatiq messages
        self._buffer: deque[Execution] = deque()  # claimed ahead; no place is free for them yet
        self._handed_over: dict[Key, Execution] = {}  # on their way to a free place

    def add(self, execution: Execution) -> None:
        self._buffer.append(execution)

    @property
    def free(self) -> int:
        """How many more tasks can start at once. One that was given back on its way still counts: while the event loop
        is blocked, none arrives, and nothing more is claimed for it."""
        return self.limit - len(self.occupied) - len(self._handed_over) - len(self._buffer) - self.plain

    def take_ready(self) -> list[Execution]:
        """Returns as many waiting executions as there are free places."""
        ready = []
        while self._buffer and len(self._handed_over) + len(self.occupied) + self.plain < self.limit:
            execution = self._buffer.popleft()
            self._handed_over[execution.key] = execution
            ready.append(execution)
        return ready

    def arrive(self, key: Key) -> None:
        """Notes that an execution is no longer on its way."""
        self._handed_over.pop(key, None)

    def remove(self, execution: Execution) -> None:
        """Removes an execution that waits for a place. One that is on its way is not started when it arrives."""
        if execution.key not in self._handed_over and execution in self._buffer:
            self._buffer.remove(execution)

    def unstarted(self) -> Iterable[Execution]:
        yield from self._buffer
        yield from (execution for execution in self._handed_over.values() if execution.state == "claimed")


def deliver_each(deliver: Callable[[Execution], None], ready: Iterable[Execution]) -> None:
    for execution in ready:
        deliver(execution)
