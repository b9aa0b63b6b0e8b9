"""Reading the metrics: periods, filters, pages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from state.metrics.measurement import Measurement
from state.metrics.reads import Place, Resolution, TaskMetrics, list_metrics
from tests.metrics.clock import START, StandingClock
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

Measure = Callable[[], int]
WRITER = {"agent_name": "writer", "task_type": "draft"}


@pytest.fixture
def some_days(make_task: TaskBuilder, clock: StandingClock, measure: Measure) -> None:
    """12:00, 12:01, 13:00: a task of `quick`. 12:01: a dead one of an agent. The next two days at noon: `slow`."""
    make_task("completed")
    clock.advance(minutes=1)
    make_task("completed")
    make_task("dead", actor="agent", payload=WRITER)
    clock.set(START + timedelta(hours=1))
    make_task("completed")
    for day in (1, 2):
        clock.set(START + timedelta(days=day))
        make_task("completed", actor="slow")
    clock.advance(minutes=1)
    measure()


def show(rows: list[TaskMetrics]) -> list[str]:
    return [f"{row.period:%d %H:%M} {row.actor} {row.tasks_created}" for row in rows]


@pytest.mark.usefixtures("some_days")
class TestPeriods:
    @pytest.mark.parametrize(
        ("resolution", "expected"),
        [
            ("minute", ["06 13:00 quick 1", "06 12:01 agent 1", "06 12:01 quick 1", "06 12:00 quick 1"]),
            ("hour", ["06 13:00 quick 1", "06 12:00 agent 1", "06 12:00 quick 2"]),
            ("day", ["06 00:00 agent 1", "06 00:00 quick 3"]),
        ],
    )
    def test_each_resolution_adds_up(self, resolution: Resolution, expected: list[str]) -> None:
        end = START + timedelta(hours=11)
        assert show(list_metrics(since=START, until=end, resolution=resolution)) == expected

    def test_days_that_are_over_and_today_are_listed_together(self) -> None:
        rows = list_metrics(resolution="day")
        assert show(rows) == ["08 00:00 slow 1", "07 00:00 slow 1", "06 00:00 agent 1", "06 00:00 quick 3"]
        assert show(list_metrics(resolution="day", until=START + timedelta(days=2)))[0] == "08 00:00 slow 1"
        assert show(list_metrics(resolution="day", until=START + timedelta(days=1, hours=12)))[0] == "07 00:00 slow 1"

    def test_periods_are_whole(self) -> None:
        one = START + timedelta(minutes=1, seconds=20)
        assert show(list_metrics(since=one, until=one + timedelta(seconds=1))) == [
            "06 12:01 agent 1",
            "06 12:01 quick 1",
        ]
        hour = list_metrics(since=one, until=one + timedelta(seconds=1), resolution="hour", actor="quick")
        assert show(hour) == ["06 12:00 quick 2"]
        day = list_metrics(since=one, until=one + timedelta(seconds=1), resolution="day", actor="quick")
        assert show(day) == ["06 00:00 quick 3"]
        assert list_metrics(since=START - timedelta(days=9), until=START, resolution="minute") == []

    def test_the_default_is_the_last_hour_day_or_month(self, clock: StandingClock) -> None:
        assert show(list_metrics()) == ["08 12:00 slow 1"]
        assert show(list_metrics(resolution="hour")) == ["08 12:00 slow 1", "07 12:00 slow 1"]
        clock.advance(days=29, hours=1)
        assert list_metrics() == []
        assert [row.actor for row in list_metrics(resolution="day")] == ["slow", "slow"]

    def test_filters(self) -> None:
        since = START - timedelta(days=1)
        assert {row.actor for row in list_metrics(since=since, actor="slow")} == {"slow"}
        for agent_name, task_type in (("writer", None), (None, "draft"), ("writer", "draft")):
            [row] = list_metrics(since=since, agent_name=agent_name, task_type=task_type)
            assert row.place[1:] == ("agent", "writer", "draft")
        assert list_metrics(since=since, agent_name="writer", task_type="edit") == []

    @pytest.mark.parametrize("resolution", ["minute", "hour", "day"])
    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_pages_have_every_row_once(self, resolution: Resolution, limit: int) -> None:
        since = START - timedelta(days=1)
        whole = list_metrics(since=since, resolution=resolution)
        pages: list[TaskMetrics] = []
        before: Place | None = None
        while page := list_metrics(since=since, resolution=resolution, before=before, limit=limit):
            pages += page
            before = Place.parse(str(page[-1].place))
        assert pages == whole


def test_rates_and_delays_of_an_hour_come_from_sums(
    make_task: TaskBuilder, clock: StandingClock, connection: Observer, measure: Measure
) -> None:
    connection.execute(
        "INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, actors, threads, started_at,"
        " seen_at) VALUES ('w', 'h', 'b', 'n', 1, '{one}', '{}', 8, callboard.now(), callboard.now())"
    )
    maintainer = Measurement()
    for status in ("completed", "dead", "completed"):
        make_task(status)
        maintainer.take_turn()
        clock.advance(minutes=1)
    maintainer.take_turn()
    measure()
    [hour] = list_metrics(resolution="hour")
    assert (hour.attempts, hour.attempts_failed, hour.error_rate) == (3, 1, 1 / 3)
    assert (hour.worker_heartbeat_delay, hour.average_heartbeat_delay) == (120.0, 60.0)
    assert [row.worker_heartbeat_delay for row in list_metrics()] == [120.0, 60.0, 0.0]
    view = connection.fetch_one("SELECT * FROM admin.task_queue_metrics WHERE actor = 'quick'")
    assert (view["worker_heartbeat_delay"], view["error_rate"], view["average_latency"]) == (120, 0, 0)


def test_failures_by_agent(make_task: TaskBuilder, connection: Observer) -> None:
    for error in ("Boom", "Boom", "Crash"):
        make_task("dead", actor="agent", payload=WRITER, error_type=error)
    make_task("dead")
    rows = connection.execute("SELECT * FROM admin.errors_by_agent ORDER BY error_type").fetchall()
    assert [tuple(row.values())[:5] for row in rows] == [
        ("writer", "draft", "Boom", 2, 2), ("writer", "draft", "Crash", 1, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("quick", "", ""), ("agent", "a/b c", "é%2F"), ("agent", "", "x")])
def test_a_place_can_be_written_and_read(names: tuple[str, str, str]) -> None:
    place = Place(datetime(2031, 5, 6, 12, 1, tzinfo=UTC), *names)
    assert Place.parse(str(place)) == place
    assert str(place).isascii()


@pytest.mark.parametrize(
    "text", ["", "2031-05-06T12:01Z", "x/quick//", "2031-05-06T12:01Z/a/b", "2031-05-06T12:01Z/a/b/c/d"]
)
def test_other_texts_are_no_places(text: str) -> None:
    with pytest.raises(ValueError, match=r"place|format"):
        Place.parse(text)
