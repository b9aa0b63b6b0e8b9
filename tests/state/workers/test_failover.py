"""What a worker does with a database that has moved to another server, and may have lost its last commits."""

import threading

import psycopg
import pytest

from state.database import connect
from state.settings import get_settings
from state.workers.leases import get_wait_after_failover
from tests.support.clock import Clock
from tests.support.observer import Observer


def ask() -> float:
    with connect("test", direct=True) as connection:
        return get_wait_after_failover(connection)


@pytest.mark.usefixtures("database_url")
def test_a_server_that_has_always_been_the_primary_makes_nobody_wait() -> None:
    assert [ask(), ask()] == [0, 0]


def test_on_a_new_timeline_nothing_is_claimed_until_all_earlier_leases_have_ended(
    connection: Observer, clock: Clock
) -> None:
    ask()
    connection.execute("UPDATE callboard.timelines SET timeline = timeline + 1000")  # the one that was left
    lease = get_settings().lease_seconds
    assert ask() == lease
    clock.advance(lease / 2)
    assert 0 < ask() <= lease / 2
    clock.advance(lease / 2)
    assert ask() == 0
    clock.advance(-3600)
    assert ask() == lease  # a clock that was stepped back makes nobody wait for longer


def test_two_workers_meet_a_new_timeline_at_once(connection: Observer, database_url: str) -> None:
    ask()
    connection.execute("UPDATE callboard.timelines SET timeline = timeline + 1000")
    answers: list[float] = []
    second = threading.Thread(target=lambda: answers.append(ask()))
    with psycopg.connect(database_url) as first:
        first.execute("SELECT callboard.wait_after_failover('30 s')")
        second.start()
        second.join(0.2)  # it waits for the row of the first
        first.commit()
    second.join(30)
    assert 0 < answers[0] <= get_settings().lease_seconds
