"""How many tasks a process may claim."""

import time
from typing import NamedTuple, Self

from broker.execution.durations import LONG
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks


class Capacity(NamedTuple):
    """The number of tasks that a process can start now, and the number of short tasks that it may claim ahead."""

    threads: int
    ahead: int
    short_actors: tuple[str, ...]

    @classmethod
    def of(cls, held: HeldTasks) -> Self:
        """Computes the capacity. Only short tasks are claimed ahead, as many as the threads without a long task are
        expected to start within about 50 ms. They are claimed in larger batches, not one by one."""
        now = time.monotonic()
        running = held.running()
        # An actor that has become slow is noticed while it runs, before its average says so.
        slow = {execution.claimed.actor for execution in running if _is_long(execution, now)}
        short = {actor: seconds for actor, seconds in held.durations.get_short_actors().items() if actor not in slow}
        occupied = len(running) + len(unstarted := held.unstarted()) + held.plain
        long = sum(execution.claimed.actor not in short for execution in [*running, *unstarted]) + held.plain
        free = max(held.threads - occupied, 0)
        allowed = held.durations.count_ahead(short, held.threads - long)
        ahead = max(allowed - max(occupied - held.threads, 0), 0)
        if ahead < allowed // 4 and free == 0:
            ahead = 0
        return cls(free, ahead, tuple(short))

    def __bool__(self) -> bool:
        return self.threads + self.ahead > 0


def _is_long(execution: Execution, now: float) -> bool:
    return execution.started_at is not None and now - execution.started_at > LONG


NO_CAPACITY = Capacity(0, 0, ())
