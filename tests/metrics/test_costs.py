"""Measuring a minute reads that minute, however long the history is."""

from datetime import timedelta

import pytest

from tests.metrics.clock import START, StandingClock
from tests.metrics.history import make_history
from tests.support.observer import Observer

TASKS = 200_000
PACE = 0.3  # seconds from one task to the next: 200 a minute
MIDDLE = START + timedelta(hours=8)


@pytest.fixture
def history(connection: Observer, clock: StandingClock) -> int:
    """Makes 200,000 tasks and 600,000 events. Returns the number of their pages."""
    make_history(connection, START, TASKS, PACE)
    connection.execute("SELECT brin_summarize_new_values('callboard.events_before_at_idx')")  # else autovacuum does it
    size = "SELECT pg_relation_size('callboard.events_before') + pg_relation_size('callboard.tasks') AS bytes"
    return int(connection.fetch_one(size)["bytes"]) // 8192


def count_pages(connection: Observer, clock: StandingClock, minutes: int = 1) -> int:
    """Measures some minutes in the middle of the history. Returns how many pages that has touched, each time anew."""
    connection.execute("UPDATE callboard.metrics_progress SET measured_until = %s", [MIDDLE])
    clock.set(MIDDLE + timedelta(minutes=minutes))
    query = "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM callboard.measure_tasks(%s)"
    [plan] = connection.fetch_one(query, [60 * minutes])["QUERY PLAN"]
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def test_a_minute_costs_as_much_as_what_happened_in_it(
    connection: Observer, clock: StandingClock, history: int
) -> None:
    before_statistics = count_pages(connection, clock)
    connection.execute("ANALYZE")
    after_statistics = count_pages(connection, clock)
    happened = connection.fetch_one("SELECT sum(tasks_created) AS created FROM callboard.task_queue_metrics")
    assert happened["created"] == 200
    # For each of two moves a task by its index, of 4 pages; two megabytes of events, twice; the catalog of partitions.
    assert max(before_statistics, after_statistics) < 2 * 200 * 5 + 2 * 2 * 128 + 800 < history / 5
    connection.execute("DROP INDEX callboard.events_moves")
    assert count_pages(connection, clock) > history / 3, "the test sees it when everything is read"


def test_minutes_without_tasks_cost_next_to_nothing(connection: Observer, clock: StandingClock, history: int) -> None:
    busy = count_pages(connection, clock, minutes=60)
    clock.set(START + timedelta(days=30))
    connection.execute("UPDATE callboard.metrics_progress SET measured_until = %s", [START + timedelta(days=20)])
    query = "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM callboard.measure_tasks(86400)"
    [plan] = connection.fetch_one(query)["QUERY PLAN"]
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < busy / 20
