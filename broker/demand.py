"""How many tasks a process may ask for."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from broker.durations import Durations
from broker.execution import Execution


class Demand(NamedTuple):
    """How many tasks a process can start now, and how many short ones it may hold besides."""

    free: int
    ahead: int
    short_actors: tuple[str, ...]

    @classmethod
    def of(cls, executions: Iterable[Execution], plain_busy: int, threads: int, durations: Durations) -> Self:
        """Beyond the free threads only short ones, and only as many as the threads that run nothing long can be
        expected to get to within about 50 ms; not one by one, but a good part at a time."""
        short = durations.short_actors()
        occupied = [execution for execution in executions if not execution.finished]
        long = sum(execution.claimed.actor not in short for execution in occupied) + plain_busy
        free = max(threads - len(occupied) - plain_busy, 0)
        allowed = durations.ahead(short, threads - long)
        ahead = max(allowed - max(len(occupied) + plain_busy - threads, 0), 0)
        if ahead < allowed // 4 and free == 0:
            ahead = 0
        return cls(free, ahead, tuple(short))

    def __bool__(self) -> bool:
        return self.free + self.ahead > 0


NO_DEMAND = Demand(0, 0, ())
