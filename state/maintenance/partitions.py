"""Partitions of the history (`events` and `attempts`), made ahead: the maintainer's part."""

import time

from state.database import fetch, retrying
from state.logs import log

SECONDS = 600.0  # between two looks: they are made months ahead


class Partitions:
    """One maintainer's turns, paced by its own clock. Two at once do no harm."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def make(self) -> None:
        """Does one step, as a turn has to be short. The next turn goes on, until there is nothing to do."""
        if make_partition() is None:
            self._next = time.monotonic() + SECONDS


@retrying
def make_partition() -> str | None:
    """Does one step, and returns what was done; None if there is nothing to do, or somebody is in the way."""
    [row] = fetch("make_partition", {})
    step: str | None = row["step"]
    if step is not None:
        log.info("history: partition", made=step)
    return step
