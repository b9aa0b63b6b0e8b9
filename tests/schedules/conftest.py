"""Schedules of an actor that writes a line for each of its tasks, and a clock that can be set."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import actors  # noqa: F401  (declares the actors)
import tests.support.testactors  # noqa: F401
from state.schedules.changes import create_schedule
from state.schedules.reads import Schedule, ScheduleRun, list_runs
from tests.support.clock import Clock
from tests.support.observer import Observer

NOON = datetime(2030, 5, 15, 12, 0, 5, tzinfo=UTC)  # a Wednesday

SetClock = Callable[[datetime], None]
MakeSchedule = Callable[..., Schedule]


@pytest.fixture
def set_clock(clock: Clock, connection: Observer) -> SetClock:
    """Sets the database's clock, which goes on from there."""

    def set_to(moment: datetime) -> None:
        now: datetime = connection.fetch_one("SELECT callboard.now() AS now")["now"]
        clock.advance((moment - now).total_seconds())

    return set_to


@pytest.fixture
def make_schedule(set_clock: SetClock) -> MakeSchedule:
    """Makes a schedule at noon."""
    set_clock(NOON)
    made = 0

    def make(cron: str = "*/10 * * * *", **options: Any) -> Schedule:
        nonlocal made
        made += 1
        options.setdefault("actor", "note")
        return create_schedule(options.pop("name", f"schedule {made}"), cron, **options)

    return make


def list_ticks(schedule: Schedule, *, outcome: str | None = None) -> list[str]:
    """Returns the ticks of the runs, oldest first, as hours and minutes in UTC."""
    runs = [run for run in _list_runs(schedule) if outcome in (None, run.outcome)]
    return [run.tick.astimezone(UTC).strftime("%H:%M") if run.tick else "asked for" for run in runs]


def _list_runs(schedule: Schedule) -> list[ScheduleRun]:
    return list_runs(schedule.schedule_id, limit=2000)[::-1]


def at(text: str, day: int = 15) -> datetime:
    """The moment of the clock on the day of NOON, some seconds after the minute."""
    hour, minute = text.split(":")
    return NOON.replace(day=day, hour=int(hour), minute=int(minute))


@pytest.fixture(autouse=True)
def nothing_is_wrong(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test with a database: a started run has its task, whose history names it."""
    if "database_url" not in request.fixturenames:
        yield
        return
    connection: Observer = request.getfixturevalue("connection")
    yield
    wrong = connection.execute("""
        SELECT r.* FROM callboard.schedule_runs r
        LEFT JOIN callboard.events e ON e.task_id = r.task_id AND e.n = 1
        WHERE r.outcome = 'started' AND (e.data ->> 'schedule_id', (e.data ->> 'tick')::timestamptz)
              IS DISTINCT FROM (r.schedule_id, r.tick)
    """).fetchall()
    assert wrong == []
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
