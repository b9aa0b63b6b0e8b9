"""Partitions of the history (`events` and `attempts`), made ahead: the maintainer's part."""

import time

from state.database import fetch, retrying
from state.logs import log

SECONDS = 600.0  # between two looks: they are made months ahead
_MOST = 20  # steps in a turn


class Partitions:
    """One maintainer's turns, paced by its own clock. Two at once do no harm."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def make(self) -> None:
        self._next = time.monotonic() + SECONDS
        make_partitions()


def make_partitions() -> list[str]:
    """Makes what is missing, each in a transaction of its own, and returns what was done."""
    done: list[str] = []
    while len(done) < _MOST and (step := _make_one()) is not None:
        log.info("history: partition", made=step)
        done.append(step)
    return done


@retrying
def _make_one() -> str | None:
    [row] = fetch("make_partition", {})
    step: str | None = row["step"]
    return step
