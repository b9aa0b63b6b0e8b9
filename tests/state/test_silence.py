"""A lease ends on two clocks: the database's, and the observer's own."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from state import get_task, submit, submit_many
from state.database.connection import Connection
from state.maintenance.losses import sweep_silent
from state.maintenance.silence import Sign, Silence
from state.maintenance.sweep import read_signs
from state.tasks.submission import NewTask
from state.workers.leases import Claimed
from state.workers.registry import Identity, list_workers, pulse, register, stopped
from tests.support.clock import Clock

Take = Callable[..., list[Claimed]]


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
    return lambda: [row["id"] for row in sweep_silent(silence.observe(read_signs()))]


def test_silence_begins_with_the_first_look_and_ends_with_a_sign(own: OwnClock) -> None:
    silence = Silence(30, own)
    then = datetime.now(UTC)
    silent, talking = Sign(then, None), Sign(then, then)
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


def test_a_database_clock_that_jumps_forward_takes_nothing_from_the_living(
    take: Take, desk: Connection, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    submit("quick", {})
    [task] = take()
    assert observe() == []
    own.now += 25
    clock.advance(3600)
    assert observe() == []
    pulse(desk, "w1", ["one"], 1)
    own.now += 25
    clock.advance(3600)
    assert observe() == []
    assert get_task(task.id).status == "running"


def test_a_lease_ends_when_both_clocks_say_so(
    take: Take, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    submit("quick", {})
    [task] = take()
    assert observe() == []
    own.now += 31
    assert observe() == []  # the database's clock stands still
    clock.advance(31)
    assert observe() == [task.id]
    assert get_task(task.id).status == "queued"


def test_a_lease_of_a_clock_that_was_stepped_back_since_does_not_live_on_for_an_hour(
    take: Take, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    clock.advance(3600)
    submit("quick", {})
    [task] = take()
    assert observe() == []
    clock.advance(-3600)
    assert observe() == []
    own.now += 31
    assert observe() == [task.id]


def test_a_renewal_after_the_last_look_keeps_the_lease(take: Take, desk: Connection, clock: Clock) -> None:
    submit_many([NewTask("quick", {}) for _ in range(2)])
    take(2)
    silent = read_signs()
    pulse(desk, "w1", ["one"], 1)
    clock.advance(3600)  # expired again by the database's clock, but not the renewal that was observed
    assert sweep_silent(silent) == []
    assert len(sweep_silent(read_signs())) == 2


def test_a_renewal_that_is_under_way_wins(take: Take, connection: psycopg.Connection, clock: Clock) -> None:
    submit("quick", {})
    take()
    clock.advance(31)
    with connection.transaction():
        connection.execute("UPDATE callboard.leases SET expires_at = callboard.now() + interval '30 s'")
        assert sweep_silent(read_signs()) == []
    assert sweep_silent(read_signs()) == []


@pytest.mark.parametrize("row", ["none", "stopped"])
def test_leases_of_workers_that_are_not_listed_end_as_well(
    row: str, take: Take, clock: Clock, own: OwnClock, observe: Callable[[], list[str]], connection: psycopg.Connection
) -> None:
    worker = Identity.of_this_process()
    submit("quick", {})
    [task] = take(worker=worker.id)
    if row == "stopped":
        register(worker, ["one"], 8)
        connection.execute("UPDATE callboard.workers SET stopped_at = callboard.now()")  # as release 15 does
    assert observe() == []
    own.now += 31
    clock.advance(31)
    assert observe() == [task.id]


def test_a_worker_of_a_host_that_has_vanished_is_not_listed_for_ever(
    desk: Connection, take: Take, clock: Clock, own: OwnClock, observe: Callable[[], list[str]]
) -> None:
    worker = Identity.of_this_process()
    register(worker, ["one"], 8)
    submit("quick", {})
    take(worker=worker.id)
    observe()
    clock.advance(31)
    observe()
    assert len(list_workers()) == 1
    own.now += 31
    observe()
    assert list_workers() == []
    pulse(desk, worker.id, ["one"], 1)  # it was only cut off
    assert len(list_workers()) == 1


def test_a_worker_that_says_goodbye_with_leases_is_still_listed(take: Take) -> None:
    worker = Identity.of_this_process()
    register(worker, ["one"], 8)
    submit("quick", {})
    take(worker=worker.id)
    stopped([worker.id])
    assert [row["id"] for row in list_workers()] == [worker.id]
