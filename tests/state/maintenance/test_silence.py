"""A lease ends on two clocks: the database's, and the observer's own."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from state import get_task
from state.database import Connection
from state.maintenance.losses import sweep_silent
from state.maintenance.silence import LastSeen, Silence
from state.maintenance.sweep import read_last_seen
from state.workers.identity import Identity
from state.workers.pulse import send_pulse
from state.workers.registry import list_workers, mark_stopped, register
from tests.support.builders import TaskBuilder
from tests.support.clock import Clock
from tests.support.observer import Observer


class OwnClock:
    """The observer's monotonic clock."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def own() -> OwnClock:
    return OwnClock()


@pytest.fixture
def observe(own: OwnClock) -> Callable[[], list[str]]:
    """One turn of an observer; returns the ids of the tasks that were lost."""
    silence = Silence(30, own)
    return lambda: [row["id"] for row in sweep_silent(silence.observe(read_last_seen()))]


def test_silence_begins_with_the_first_look_and_ends_when_the_worker_is_seen(own: OwnClock) -> None:
    silence = Silence(30, own)
    then = datetime.now(UTC)
    silent, talking = LastSeen(then, None), LastSeen(then, then)
    assert silence.observe({"a": silent, "b": talking}) == {}
    own.now += 29
    assert silence.observe({"a": silent, "b": talking}) == {}
    own.now += 1
    later = talking._replace(renewed_at=then + timedelta(seconds=1))
    assert silence.observe({"a": silent, "b": later}) == {"a": silent}
    own.now += 29
    assert silence.observe({"b": later}) == {}
    own.now += 1
    assert silence.observe({"a": silent, "b": later}) == {"b": later}  # "a" was forgotten in between


def test_a_database_clock_that_jumps_forward_ends_no_lease_of_a_living_worker(
    make_task: TaskBuilder,
    worker_connection: Connection,
    clock: Clock,
    own: OwnClock,
    observe: Callable[[], list[str]],
) -> None:
    task = make_task("running")
    assert observe() == []
    own.now += 25
    clock.advance(3600)
    assert observe() == []
    send_pulse(worker_connection, "w1", ["one"], 1)
    own.now += 25
    clock.advance(3600)
    assert observe() == []
    assert get_task(task.task_id).status == "running"


def test_a_lease_ends_when_both_clocks_say_so(
    make_task: TaskBuilder, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    task = make_task("running")
    assert observe() == []
    own.now += 31
    assert observe() == []  # the database's clock stands still
    clock.advance(31)
    assert observe() == [task.task_id]
    assert get_task(task.task_id).status == "queued"


def test_a_lease_does_not_live_for_an_hour_because_the_clock_was_stepped_back(
    make_task: TaskBuilder, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    clock.advance(3600)
    task = make_task("running")
    assert observe() == []
    clock.advance(-3600)
    assert observe() == []
    own.now += 31
    assert observe() == [task.task_id]


def test_a_renewal_after_the_last_look_keeps_the_lease(
    make_task: TaskBuilder, worker_connection: Connection, clock: Clock
) -> None:
    for _ in range(2):
        make_task("running")
    silent = read_last_seen()
    send_pulse(worker_connection, "w1", ["one"], 1)
    clock.advance(3600)  # expired again by the database's clock, but not the renewal that was observed
    assert sweep_silent(silent) == []
    assert len(sweep_silent(read_last_seen())) == 2


def test_a_renewal_that_is_under_way_wins(make_task: TaskBuilder, connection: Observer, clock: Clock) -> None:
    make_task("running")
    clock.advance(31)
    with connection.transaction():
        connection.execute("UPDATE callboard.leases SET expires_at = callboard.now() + interval '30 s'")
        assert sweep_silent(read_last_seen()) == []
    assert sweep_silent(read_last_seen()) == []


@pytest.mark.parametrize("row", ["none", "stopped"])
def test_leases_of_workers_that_are_not_listed_end_as_well(
    row: str,
    make_task: TaskBuilder,
    clock: Clock,
    own: OwnClock,
    observe: Callable[[], list[str]],
    connection: Observer,
) -> None:
    worker = Identity.of_this_process()
    task = make_task("running", worker=worker.id)
    if row == "stopped":
        register(worker, ["one"], 8)
        connection.execute("UPDATE callboard.workers SET stopped_at = callboard.now()")
    assert observe() == []
    own.now += 31
    clock.advance(31)
    assert observe() == [task.task_id]


def test_a_worker_of_a_host_that_has_vanished_is_not_listed_forever(
    worker_connection: Connection,
    make_task: TaskBuilder,
    clock: Clock,
    own: OwnClock,
    observe: Callable[[], list[str]],
) -> None:
    worker = Identity.of_this_process()
    register(worker, ["one"], 8)
    make_task("running", worker=worker.id)
    observe()
    clock.advance(31)
    observe()
    assert len(list_workers()) == 1
    own.now += 31
    observe()
    assert list_workers() == []
    send_pulse(worker_connection, worker.id, ["one"], 1)  # it was only cut off
    assert len(list_workers()) == 1


def test_a_worker_that_stops_with_leases_is_still_listed(make_task: TaskBuilder) -> None:
    worker = Identity.of_this_process()
    register(worker, ["one"], 8)
    make_task("running", worker=worker.id)
    mark_stopped([worker.id])
    assert [row["id"] for row in list_workers()] == [worker.id]
