"""Samples of how gates are used: the maintainer's part of their history."""

import time

from state.database import fetch, retrying

SECONDS = 10.0  # between two samples
_MOST = 500  # gates in a sample


class Sampling:
    """One maintainer's samples, paced by its own clock. Two at once do no harm."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def take(self) -> None:
        self._next = time.monotonic() + SECONDS - 0.5  # turns begin a little late
        sample_gates()


@retrying
def sample_gates() -> None:
    """One statement. It changes nothing while no gate is in use."""
    fetch("gate_sample", {"most": _MOST})
