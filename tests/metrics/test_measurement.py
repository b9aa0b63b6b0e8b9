"""When minutes are measured, by whom, and again."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import state
from state.database import close_database
from state.maintenance.housekeeping import SLOW_TURNS, Housekeeping
from state.metrics import measurement
from state.metrics.measurement import Measurement, measure_tasks
from state.metrics.reads import list_metrics
from tests.metrics.clock import START, StandingClock
from tests.metrics.conftest import Counts
from tests.metrics.measuring import work_off
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer
from tests.support.turns import do_turn

Read = Callable[[], Counts]
Measure = Callable[[], int]

QUICK = ("quick", "", "")


def read_progress(connection: Observer) -> dict[str, object]:
    return connection.fetch_one("SELECT measured_until, final_until, recheck_xid FROM callboard.metrics_progress")


def measure_from(connection: Observer, moment: object) -> None:
    connection.execute(
        "UPDATE callboard.metrics_progress SET measured_until = %(at)s, final_until = %(at)s, recheck_xid = NULL",
        {"at": moment},
    )


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seconds of each batch that a maintainer asks for."""
    asked: list[int] = []

    def note(most_seconds: int) -> list[dict[str, Any]]:
        asked.append(most_seconds)
        return measure_tasks(most_seconds)

    monkeypatch.setattr(measurement, "measure_tasks", note)
    return asked


def test_measuring_a_minute_again_changes_nothing(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure, counts: Read
) -> None:
    make_task("completed")
    make_task("dead", actor="slow")
    clock.advance(minutes=1)
    assert measure() == 1
    rows = connection.execute("SELECT * FROM callboard.task_queue_metrics ORDER BY actor").fetchall()
    measure_from(connection, START)
    assert measure() == 1
    assert connection.execute("SELECT * FROM callboard.task_queue_metrics ORDER BY actor").fetchall() == rows
    assert measure() == 0
    assert counts()["12:00", *QUICK] == (1, 1, 0, 1, 0)


def test_one_of_two_that_measure_at_once_does_nothing_and_does_not_wait(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, counts: Read
) -> None:
    make_task("completed")
    clock.advance(minutes=1)
    with connection.transaction():
        connection.execute("SELECT * FROM callboard.measure_tasks(60)")
        assert measure_tasks(60) == []
    assert measure_tasks(60) == []
    assert counts() == {("12:00", *QUICK): (1, 1, 0, 1, 0)}


def test_one_that_dies_in_the_middle_leaves_the_minute_to_the_next(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure, counts: Read
) -> None:
    make_task("completed")
    clock.advance(minutes=1)
    with connection.transaction(force_rollback=True):
        connection.execute("SELECT * FROM callboard.measure_tasks(60)")
    assert counts() == {}
    assert measure() == 1
    assert counts() == {("12:00", *QUICK): (1, 1, 0, 1, 0)}


def test_after_an_outage_all_minutes_are_measured_in_batches(
    make_task: TaskBuilder, clock: StandingClock, measure: Measure, counts: Read
) -> None:
    for _ in range(5):
        make_task("completed")
        clock.advance(minutes=45)
    assert measure_tasks(3600) == [{"measured_from": START, "measured_to": START + timedelta(hours=1)}]
    measure()
    assert [minute for minute, *_ in counts()] == ["12:00", "12:45", "13:30", "14:15", "15:00"]


def test_a_maintainer_that_finds_years_to_measure_is_soon_through(
    make_task: TaskBuilder,
    connection: Observer,
    clock: StandingClock,
    batches: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurement, "_BATCH_SECONDS", 1e9)  # every batch is fast enough to be doubled
    make_task("completed")
    clock.advance(days=3 * 365)
    maintainer = Measurement()
    work_off(maintainer)
    assert batches[:15] == [*(10 * 2**n for n in range(14)), 24 * 3600]
    assert len(batches) < 2 * 3 * 365 + 30  # each minute twice
    row = connection.fetch_one("SELECT * FROM callboard.task_queue_metrics_daily WHERE actor = 'quick'")
    assert (row["day"], row["tasks_completed"]) == (START.date(), 1)


def test_a_batch_that_is_slow_is_halved(
    clock: StandingClock, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurement, "_BATCH_SECONDS", 0.0)
    clock.advance(minutes=1)
    work_off(Measurement())
    assert batches[:5] == [10, 5, 2, 1, 1]


@pytest.mark.parametrize("seconds", [1, 7, 59, 60, 61, 100])
def test_a_minute_may_be_measured_in_parts(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure, seconds: int
) -> None:
    for second in (0, 6, 20, 20, 58, 60, 119):
        clock.set(START + timedelta(seconds=second))
        make_task("completed")
        make_task("dead", actor="slow")
    clock.set(START + timedelta(minutes=3))
    query = "SELECT * FROM callboard.task_queue_metrics ORDER BY minute, actor"
    seen = {len(list_metrics())}
    while measure_tasks(seconds):
        seen.add(len(list_metrics()))
        assert {row.tasks_created for row in list_metrics()} <= {5, 2}, "only whole minutes can be read"
    assert seen >= {0, 4}
    in_parts = connection.execute(query).fetchall()
    measure_from(connection, START)
    measure()
    assert connection.execute(query).fetchall() == in_parts
    assert [(row["actor"], row["tasks_created"], row["moves"]) for row in in_parts] == [
        ("", 0, 30), ("quick", 5, 0), ("slow", 5, 0), ("", 0, 12), ("quick", 2, 0), ("slow", 2, 0)
    ]  # fmt: skip


def test_the_second_look_measures_only_what_has_changed(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure
) -> None:
    make_task("completed")
    clock.advance(minutes=1)
    with Observer.open(connection.info.dsn) as caller, caller.transaction():
        make_task("completed")
        state.submit("slow", {}, conn=caller)
        clock.advance(minutes=1)
        measure()
    versions = (
        "SELECT minute, actor, xmin::text FROM callboard.task_queue_metrics WHERE actor = 'quick' ORDER BY minute"
    )
    first = connection.execute(versions).fetchall()
    for _ in range(6):
        clock.advance(minutes=1)
        measure()
    second = connection.execute(versions).fetchall()
    assert [before == after for before, after in zip(first, second, strict=True)] == [True, False]


def test_a_transaction_that_commits_late_is_not_lost(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Measure, counts: Read
) -> None:
    with Observer.open(connection.info.dsn) as caller:
        with caller.transaction():
            state.submit("quick", {}, conn=caller)
            make_task("queued", actor="slow")
            for _ in range(90):
                clock.advance(minutes=1)
                measure()
            assert counts() == {("12:00", "slow", "", ""): (1, 0, 0, 0, 0)}
        clock.advance(minutes=1)
        measure()
    assert counts() == {("12:00", *QUICK): (1, 0, 0, 0, 0), ("12:00", "slow", "", ""): (1, 0, 0, 0, 0)}


def test_minutes_are_final_when_no_open_transaction_can_have_written_into_them(
    connection: Observer, clock: StandingClock, measure: Measure
) -> None:
    for _ in range(10):
        clock.advance(minutes=1)
        measure()
    assert read_progress(connection)["final_until"] == START + timedelta(minutes=7)
    with Observer.open(connection.info.dsn) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM callboard.tasks")  # writes nothing, and holds nothing up
        clock.advance(minutes=1)
        measure()
    assert read_progress(connection)["final_until"] == START + timedelta(minutes=8)


def test_a_transaction_id_from_another_server_is_not_waited_for(
    connection: Observer, clock: StandingClock, measure: Measure
) -> None:
    clock.advance(minutes=10)
    measure()
    connection.execute("UPDATE callboard.metrics_progress SET recheck_xid = '1000000000'")  # as after a restored dump
    clock.advance(minutes=1)
    measure()
    assert read_progress(connection)["final_until"] > START  # type: ignore[operator]


@pytest.mark.parametrize("step", [timedelta(seconds=30), timedelta(hours=5), timedelta(days=80)], ids=str)
def test_minutes_that_come_again_after_the_clock_was_stepped_back_are_measured_again(
    make_task: TaskBuilder,
    connection: Observer,
    clock: StandingClock,
    counts: Read,
    step: timedelta,
) -> None:
    make_task("completed")
    clock.advance(hours=1, minutes=1, seconds=10)
    maintainer = Measurement()
    work_off(maintainer)
    true = clock.now - (step if step < timedelta(minutes=1) else timedelta(0))
    clock.set(true + step)  # a clock that is wrong, and then set right
    for _ in range(5):  # until its minutes are final, and those of the true day may be removed as too old
        work_off(maintainer)
        clock.advance(minutes=1 if step > timedelta(minutes=1) else 0)
    clock.set(true)
    make_task("completed")
    work_off(maintainer)
    clock.set(START + timedelta(hours=2))
    work_off(maintainer)
    assert sum(row[1] for (_, actor, *_), row in counts().items() if actor == "quick") == 2
    clock.set(START + timedelta(days=1))
    work_off(maintainer)
    daily = "SELECT tasks_completed FROM callboard.task_queue_metrics_daily WHERE actor = 'quick' AND day = %s"
    assert connection.fetch_one(daily, [START.date()])["tasks_completed"] == 2


def test_the_age_of_the_workers_pulses_is_sampled(connection: Observer, clock: StandingClock) -> None:
    add = (
        "INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, actors, threads, started_at,"
        " seen_at, stopped_at) SELECT name, 'h', 'b', 'n', 1, '{one}', '{}', 8, now(),"
        " callboard.now() - make_interval(secs => delay), stopped"
        " FROM (VALUES ('a', 1, NULL), ('b', 3, NULL), ('c', 60, now()), ('ahead', -5, NULL))"
        " AS w (name, delay, stopped)"
    )
    connection.execute(add)
    maintainer = Measurement()
    maintainer.take_turn()
    clock.advance(seconds=2)
    maintainer.take_turn()
    clock.advance(minutes=1)
    maintainer.take_turn()
    row = connection.fetch_one("SELECT * FROM callboard.task_queue_metrics WHERE actor = ''")
    assert (row["minute"], row["heartbeats"], row["heartbeat_delay_sum"], row["worker_heartbeat_delay"]) == (
        START, 6, 1 + 3 + 3 + 5, 5.0
    )  # fmt: skip
    clock.advance(minutes=1)
    Measurement().take_turn()  # measures minutes again that have samples, and leaves those
    measure_from(connection, START)
    Measurement().take_turn()
    assert connection.fetch_one("SELECT * FROM callboard.task_queue_metrics WHERE actor = '' ORDER BY minute") == row


def test_the_housekeeping_measures_the_minutes(make_task: TaskBuilder, clock: StandingClock, counts: Read) -> None:
    make_task("completed")
    housekeeping = Housekeeping()
    do_turn(housekeeping)
    assert counts() == {}
    clock.advance(minutes=1)
    for _ in range(SLOW_TURNS):
        do_turn(housekeeping)
    assert counts() == {("12:00", *QUICK): (1, 1, 0, 1, 0)}
    close_database()
