"""Minutes become days, and are removed when their days are final."""

from collections.abc import Callable

import pytest

import state
from state.metrics import measurement
from state.metrics.measurement import Measurement
from tests.metrics.clock import START, StandingClock
from tests.metrics.conftest import Counts
from tests.metrics.measuring import count_rows, work_off
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

Read = Callable[[], Counts]
Measure = Callable[[], int]


def test_days_are_added_up_when_they_are_over_and_when_a_late_commit_changes_them(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure
) -> None:
    daily = (
        "SELECT day, tasks_created, tasks_completed, latency_max "
        "FROM callboard.task_queue_metrics_daily WHERE actor = 'quick'"
    )
    make_task("completed")
    clock.advance(hours=11, minutes=59, seconds=50)
    with Observer.open(connection.info.dsn) as caller:
        with caller.transaction():
            state.submit("quick", {}, conn=caller)
            measure()
            assert connection.execute(daily).fetchall() == [], "the day is not over"
            clock.advance(minutes=10)
            measure()
            assert connection.fetch_one(daily)["tasks_created"] == 1
        for _ in range(2):  # the first one measures what was to be measured again before midnight
            clock.advance(minutes=1)
            measure()
    expected = {"day": START.date(), "tasks_created": 2, "tasks_completed": 1, "latency_max": 0.0}
    assert connection.execute(daily).fetchall() == [expected]


def test_minutes_are_kept_for_30_days_and_days_for_ever(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count() -> tuple[int, int]:
        return count_rows(connection, "task_queue_metrics"), count_rows(connection, "task_queue_metrics_daily")

    monkeypatch.setattr(measurement, "_REMOVED_AT_ONCE", 2)  # the two rows of a minute
    maintainer = Measurement()
    for _ in range(3):
        make_task("completed")
        clock.advance(minutes=1)
    clock.advance(days=30, hours=11)
    for _ in range(2):  # measured, and looked at again
        work_off(maintainer)
        clock.advance(minutes=1)
    assert count() == (3, 1)
    clock.advance(hours=1)  # after midnight
    for left in (2, 1, 0, 0):
        measurement._remove_old()
        assert count() == (left, 1)
    monkeypatch.setattr(measurement, "_REMOVED_AT_ONCE", 1000)
    make_task("completed")
    for days in (29, 2):
        clock.advance(days=days)
        work_off(maintainer)
        clock.advance(minutes=5)
        work_off(maintainer)
        assert count() == (1 if days == 29 else 0, 2)


def test_minutes_whose_day_is_not_final_are_kept(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock
) -> None:
    with Observer.open(connection.info.dsn) as caller, caller.transaction():
        state.submit("quick", {}, conn=caller)
        make_task("completed", actor="slow")
        clock.advance(days=40)
        maintainer = Measurement()
        work_off(maintainer)
        assert count_rows(connection, "task_queue_metrics", actor="slow") == 1
    clock.advance(minutes=5)
    work_off(maintainer)
    row = connection.fetch_one("SELECT tasks_created FROM callboard.task_queue_metrics_daily WHERE actor = 'quick'")
    assert row["tasks_created"] == 1
