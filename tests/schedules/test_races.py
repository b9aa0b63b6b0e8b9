"""Two maintainers at once, a maintainer that dies in the middle, changes beside ticks: each tick is started once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from state import jsonsafe
from state.database import Row, fetch, retrying, transaction
from state.maintenance.housekeeping import Housekeeping
from state.schedules import starts
from state.schedules.changes import change_schedule, create_schedule
from state.schedules.plan import make_plan
from state.schedules.reads import get_schedule, list_runs
from state.schedules.starts import start_due, start_schedule
from tests.schedules.conftest import MakeSchedule, SetClock, at, list_ticks
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.turns import learn_due


def test_maintainers_that_race(make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer) -> None:
    """All plan the same ticks before any of them starts one, again and again; somebody asks for runs as well."""
    schedules = [make_schedule("* * * * *", catch_up="all") for _ in range(5)]
    runners = 4
    with ThreadPoolExecutor(runners + 1) as pool:
        for step in range(1, 11):
            set_clock(at("12:00") + timedelta(minutes=3 * step))
            due = fetch("schedules_due", {"limit": 20})
            barrier = threading.Barrier(runners + 1)

            def race(planned: str, barrier: threading.Barrier = barrier) -> int:
                barrier.wait(10)
                return len(starts._start(planned))

            plans = [plan(due) for _ in range(runners)]
            racing = [pool.submit(race, planned) for planned in plans]
            barrier.wait(10)
            asked = pool.submit(start_schedule, schedules[0].schedule_id)
            assert sum(each.result(30) for each in racing) <= 15  # less if somebody had a row locked
            asked.result(30)
            start_due()
    expected = [f"12:{minute:02}" for minute in range(1, 31)]
    assert [[tick for tick in list_ticks(each) if tick != "asked for"] for each in schedules] == [expected] * 5
    counted = connection.fetch_one("SELECT count(*) AS tasks, count(DISTINCT id) AS ids FROM callboard.tasks")
    assert counted == {"tasks": 5 * 30 + 10, "ids": 5 * 30 + 10}


def test_whole_turns_that_race(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    schedules = [make_schedule() for _ in range(30)]
    set_clock(at("12:10"))
    turns = [threading.Thread(target=Housekeeping().do_turn, args=[learn_due()]) for _ in range(3)]
    for turn in turns:
        turn.start()
    for turn in turns:
        turn.join()
    start_due()
    assert [list_ticks(each) for each in schedules] == [["12:10"]] * 30


@pytest.mark.parametrize("table", ["tasks", "events", "schedule_runs"])
def test_a_maintainer_that_dies_between_two_lines(
    table: str, make_schedule: MakeSchedule, set_clock: SetClock, connection: Observer, database_url: str
) -> None:
    """Its connection is cut while it waits to write into this table: nothing is there, and the next one starts it."""
    schedule = make_schedule()
    set_clock(at("12:10"))
    with psycopg.connect(database_url) as blocker, ThreadPoolExecutor(1) as pool:
        blocker.execute(f"LOCK TABLE callboard.{table} IN SHARE MODE")
        dying = pool.submit(_start_once)
        pid = eventually(lambda: _find_waiting(connection), what="the maintainer waits")
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])
        assert isinstance(dying.exception(30), psycopg.OperationalError)
    assert list_runs(schedule.schedule_id) == []
    assert get_schedule(schedule.schedule_id).next_at == schedule.next_at
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks")["n"] == 0
    start_due()
    assert list_ticks(schedule) == ["12:10"]


def _start_once() -> None:
    """What start_due does, without its repetitions."""
    due = fetch("schedules_due", {"limit": 20})
    fetch("schedules_start", {"planned": plan(due)})


def plan(due: list[Row]) -> str:
    return jsonsafe.dump([make_plan(row) for row in due])


def _find_waiting(connection: Observer) -> int | None:
    row = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ).fetchone()
    return row["pid"] if row else None


def test_an_answer_that_is_lost(
    make_schedule: MakeSchedule, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit has succeeded, its answer has not arrived: the repetition starts nothing again."""
    schedule = make_schedule()
    set_clock(at("12:10"))
    lose_first(monkeypatch, "schedules_start")
    assert start_due() == 1
    assert list_ticks(schedule) == ["12:10"]
    lose_first(monkeypatch, "schedule_start_now")
    assert start_schedule(schedule.schedule_id).n == 2
    assert list_ticks(schedule) == ["12:10", "asked for"]


def lose_first(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """Loses the answer to the first call of a statement, after its commit."""
    lost: list[str] = []
    real: Callable[..., Any] = fetch

    def lose(name: str, *args: Any, **options: Any) -> Any:
        rows = real(name, *args, **options)
        if name == statement and not lost:
            lost.append(name)
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return rows

    monkeypatch.setattr(starts, "fetch", lose)
    monkeypatch.setattr(starts, "_fetch", retrying(lose))


def test_a_change_beside_a_tick(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    """What was planned before the change is not done: the new expression has other ticks."""
    schedule = make_schedule("*/10 * * * *")
    set_clock(at("12:10"))
    due = fetch("schedules_due", {"limit": 20})
    planned = plan(due)
    changed = change_schedule(schedule.schedule_id, cron="15 * * * *", payload={"text": "new"})
    assert changed.next_at == at("12:15").replace(second=0)
    assert starts._start(planned) == []
    set_clock(at("12:15"))
    start_due()
    assert list_ticks(schedule) == ["12:15"]


def test_a_row_that_is_locked_after_the_plan(make_schedule: MakeSchedule, set_clock: SetClock) -> None:
    locked, other = make_schedule(), make_schedule()
    set_clock(at("12:10"))
    planned = plan(fetch("schedules_due", {"limit": 20}))
    with transaction() as own:
        own.execute("SELECT FROM callboard.schedules WHERE id = %s FOR UPDATE", [locked.schedule_id])
        started = fetch("schedules_start", {"planned": planned})  # waiting for the lock would fail
    assert [run["schedule_id"] for run in started] == [other.schedule_id]
    start_due()
    assert list_ticks(locked) == ["12:10"]


def test_two_that_create_the_same_name(make_schedule: MakeSchedule) -> None:
    make_schedule()
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(create_schedule, "same", "@daily", "note") for _ in range(4)]
        failures = [each.exception(30) for each in made]
    assert sorted(type(failure).__name__ for failure in failures) == ["NoneType", *["ScheduleExists"] * 3]
