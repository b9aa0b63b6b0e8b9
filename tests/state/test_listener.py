"""What is said to a connection that listens, is heard; whatever else it does."""

from collections.abc import Iterator, Sequence

import psycopg
import pytest

from state.bell import EVERYTHING
from state.connection import Connection
from state.listener import Ear, Nudge


@pytest.fixture
def nudge() -> Iterator[Nudge]:
    nudge = Nudge()
    yield nudge
    nudge.close()


@pytest.fixture
def heard() -> list[Sequence[str]]:
    return []


@pytest.fixture
def ear(desk: Connection, nudge: Nudge, heard: list[Sequence[str]]) -> Ear:
    return Ear(desk, "news", heard.append, nudge)


def test_who_begins_to_listen_must_look_at_everything(ear: Ear, heard: list[Sequence[str]]) -> None:
    assert heard == [[EVERYTHING]]
    assert not ear.wait(0)


def test_a_hint_ends_the_wait(ear: Ear, heard: list[Sequence[str]], connection: psycopg.Connection) -> None:
    connection.execute("NOTIFY news, 'one,two'")
    assert ear.wait(10)
    assert heard[1:] == [["one", "two"]]


def test_what_arrives_beside_an_answer_is_heard_too(ear: Ear, heard: list[Sequence[str]], desk: Connection) -> None:
    desk.fetch("notify", {"channel": "news", "payload": "along"})
    ear.wait(0)
    assert heard[1:] == [["along"]]


def test_a_nudge_ends_the_wait_once(ear: Ear, nudge: Nudge, heard: list[Sequence[str]]) -> None:
    for _ in range(100_000):  # more than the pipe holds: nobody who nudges waits
        nudge.give()
    while ear.wait(0):
        pass
    nudge.give()
    assert ear.wait(10)
    assert not ear.wait(0)
    assert heard == [[EVERYTHING]]


def test_a_lost_connection_is_no_silence(ear: Ear, desk: Connection, connection: psycopg.Connection) -> None:
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [desk.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):  # noqa: PT012
        while ear.wait(10):  # its last words come first
            pass
