"""How many tasks a process may ask for."""

import time
from typing import NamedTuple, Self

from broker.execution.durations import LONG
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks


class Capacity(NamedTuple):
    """How many tasks a process can start now, and how many short ones it may hold besides."""

    threads: int
    ahead: int
    short_actors: tuple[str, ...]

    @classmethod
    def of(cls, held: HeldTasks) -> Self:
        """Beyond the free threads only short ones, and only as many as the threads that run nothing long can be
        expected to get to within about 50 ms; not one by one, but a good part at a time."""
        now = time.monotonic()
        running = held.running()
        # An actor that has turned slow is seen while it runs, not when it ends.
        slow = {execution.claimed.actor for execution in running if _is_long(execution, now)}
        short = {actor: seconds for actor, seconds in held.durations.short_actors().items() if actor not in slow}
        occupied = len(running) + len(waiting := held.waiting()) + held.plain
        long = sum(execution.claimed.actor not in short for execution in [*running, *waiting]) + held.plain
        free = max(held.threads - occupied, 0)
        allowed = held.durations.ahead(short, held.threads - long)
        ahead = max(allowed - max(occupied - held.threads, 0), 0)
        if ahead < allowed // 4 and free == 0:
            ahead = 0
        return cls(free, ahead, tuple(short))

    def __bool__(self) -> bool:
        return self.threads + self.ahead > 0


def _is_long(execution: Execution, now: float) -> bool:
    return execution.started_at is not None and now - execution.started_at > LONG


NO_CAPACITY = Capacity(0, 0, ())
