"""A whole day of the metrics."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from state.database import Row, fetch, retrying
from state.metrics.reads import TaskMetrics, list_metrics

_MOST_ROWS = 10_000  # actors and task types of agents in one day


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    complete: bool  # all of its minutes are measured
    rows: list[TaskMetrics]


def get_day(day: date | None = None) -> Day:
    """Reads a day, in UTC; without one, yesterday by the database's clock."""
    progress = _read_progress()
    day = day or progress["yesterday"]
    begins = datetime(day.year, day.month, day.day, tzinfo=UTC)
    ends = begins + timedelta(days=1)
    rows = list_metrics(since=begins, until=ends, resolution="day", limit=_MOST_ROWS)
    return Day(day, progress["measured_until"] >= ends, rows)


@retrying
def _read_progress() -> Row:
    [row] = fetch("metrics_progress", {})
    return row
