"""Measures the minutes that are over: the maintainer's part of the metrics."""

import time
from dataclasses import dataclass
from datetime import datetime

from state.database import Row, fetch, retrying

KEPT_DAYS = 30  # of minutes; days are kept for ever
_REMOVED_AT_ONCE = 10_000
_TURN_SECONDS = 0.5  # after which the other parts of the housekeeping have their turn
_BATCH_SECONDS = 0.1  # a batch should take about as long
_MOST_MINUTES = 24 * 60


@dataclass(slots=True)
class Heartbeats:
    """Samples of the age of workers' last pulses, in one minute."""

    minute: datetime
    count: int = 0
    delay_sum: float = 0.0
    delay_max: float = 0.0


class Measurement:
    """One maintainer's work on the metrics. Two at once do no harm: one of them does nothing then."""

    def __init__(self) -> None:
        self._heartbeats: Heartbeats | None = None
        self._minutes = 1  # to measure at once
        self._unfinished = False

    def take_turn(self) -> bool:
        """Looks at the workers' heartbeats; measures, once a minute. Returns whether there is more to do right away."""
        sample = _sample()
        self._note(sample)
        if not (sample["due"] or self._unfinished):
            return False
        self._unfinished = self._measure()
        _remove_old()
        return self._unfinished

    def _note(self, sample: Row) -> None:
        """Writes the samples of a minute when it is over; those of the last minute are lost with the process. They are
        added to what is there, so they are never written twice: forgotten before they are sent."""
        noted, current = self._heartbeats, self._heartbeats
        if current is None or current.minute != sample["minute"]:
            current = self._heartbeats = Heartbeats(sample["minute"])
            if noted is not None and noted.count:
                _add_heartbeats(noted)
        current.count += sample["heartbeats"]
        current.delay_sum += sample["delay_sum"]
        current.delay_max = max(current.delay_max, sample["delay_max"])

    def _measure(self) -> bool:
        """Measures batch by batch. After an outage a batch grows as long as it is fast: most minutes may be empty."""
        until = time.monotonic() + _TURN_SECONDS
        while (began := time.monotonic()) < until:
            if not measure_tasks(self._minutes):
                self._minutes = 1
                return False
            took = time.monotonic() - began
            self._minutes = min(self._minutes * 2, _MOST_MINUTES) if took < _BATCH_SECONDS else self._minutes // 2 or 1
        return True


@retrying
def measure_tasks(most_minutes: int) -> list[Row]:
    """Measures the next minutes that are over. Returns {measured_from, measured_to}, or nothing if all are measured, or
    if another process does it."""
    return fetch("measure_tasks", {"most": most_minutes})


@retrying
def _sample() -> Row:
    [row] = fetch("metrics_sample", {})
    return row


@retrying
def _remove_old() -> list[Row]:
    return fetch("metrics_remove_old", {"days": KEPT_DAYS, "limit": _REMOVED_AT_ONCE})


def _add_heartbeats(noted: Heartbeats) -> None:
    fetch(
        "metrics_heartbeats",
        {
            "minute": noted.minute,
            "heartbeats": noted.count,
            "delay_sum": noted.delay_sum,
            "delay_max": noted.delay_max,
        },
    )
