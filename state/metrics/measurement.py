"""Measures the minutes that are over: the maintainer's part of the metrics."""

import time
from dataclasses import dataclass
from datetime import datetime

from state.database import Row, fetch, retrying

KEPT_DAYS = 30  # of minutes; days are kept for ever
_REMOVED_AT_ONCE = 10_000
_TURN_SECONDS = 0.5  # after which the other parts of the housekeeping have their turn
_BATCH_SECONDS = 0.2  # a batch should take about as long
_FIRST_SPAN = 10  # seconds to measure at once; up to a minute, it depends on how much happens in them
_LONGEST_SPAN = 24 * 3600


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
        self._span = _FIRST_SPAN
        self.unfinished = False  # there is more to measure right away

    def take_turn(self) -> bool:
        """Looks at the workers' heartbeats; measures, once a minute. Returns whether there is more to do right away."""
        sample = _sample()
        self._note(sample)
        if not (sample["due"] or self.unfinished):
            return False
        self.unfinished = self._measure()
        _remove_old()
        return self.unfinished

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
        """Measures batch by batch, of a length that takes a fraction of a second: a second in which thousands of tasks
        ended, or a day of an outage in which nothing happened."""
        until = time.monotonic() + _TURN_SECONDS
        while (began := time.monotonic()) < until:
            if not measure_tasks(self._span):
                self._span = min(self._span, _FIRST_SPAN)
                return False
            took = time.monotonic() - began
            self._span = min(self._span * 2, _LONGEST_SPAN) if took < _BATCH_SECONDS else max(self._span // 2, 1)
        return True


@retrying
def measure_tasks(most_seconds: int) -> list[Row]:
    """Measures a part of the minutes that are over. Returns {measured_from, measured_to}, or nothing if all is
    measured, or if another process does it."""
    return fetch("measure_tasks", {"most_seconds": most_seconds})


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
