"""How many tasks a process may claim."""

import time
from typing import NamedTuple, Self

from broker.execution.durations import LONG
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks


class Capacity(NamedTuple):
    """The number of tasks that a process can start now, and the number of short tasks that its threads may claim
    ahead."""

    threads: int
    coroutines: int
    ahead: int
    short_actors: tuple[str, ...]

    @classmethod
    def of(cls, held: HeldTasks) -> Self:
        """Computes the capacity. Only short tasks are claimed ahead, as many as the threads without a long task are
        expected to start within about 50 ms. They are claimed in larger batches, not one by one."""
        now = time.monotonic()
        running = held.running()
        unstarted = held.unstarted()
        # An actor that has become slow is noticed while it runs, before its average says so.
        slow = {execution.claimed.actor for execution in running if _is_long(execution, now)}
        short = {actor: seconds for actor, seconds in held.durations.get_short_actors().items() if actor not in slow}
        in_threads = [execution for execution in [*running, *unstarted] if not execution.is_async]
        plain, threads = held.threads.plain, held.threads.limit
        occupied = len(in_threads) + plain
        long = sum(execution.claimed.actor not in short for execution in in_threads) + plain
        free = max(threads - occupied, 0)
        allowed = held.durations.count_ahead(short, threads - long)
        ahead = max(allowed - max(occupied - threads, 0), 0)
        if ahead < allowed // 4 and free == 0:
            ahead = 0
        return cls(free, max(held.coroutines.free, 0), ahead, tuple(short))

    def of_kinds(self, *, threads: bool, coroutines: bool) -> Self:
        """Returns the capacity of these kinds of places only."""
        return self._replace(
            threads=self.threads if threads else 0,
            ahead=self.ahead if threads else 0,
            coroutines=self.coroutines if coroutines else 0,
        )

    def __bool__(self) -> bool:
        return self.threads + self.coroutines + self.ahead > 0


def _is_long(execution: Execution, now: float) -> bool:
    return execution.started_at is not None and now - execution.started_at > LONG


NO_CAPACITY = Capacity(0, 0, 0, ())
