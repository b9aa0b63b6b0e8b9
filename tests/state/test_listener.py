"""What is said to a connection that listens, is heard; whatever else it does."""

from collections.abc import Callable, Iterator, Sequence

import psycopg
import pytest

from state.bell import EVERYTHING
from state.connection import Connection
from state.listener import Ear, Listener, Nudge, require_writable
from tests.support.eventually import eventually


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


def test_a_server_that_became_read_only_is_noticed(desk: Connection) -> None:
    require_writable(desk)
    desk.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        require_writable(desk)


def test_a_listener_does_not_stay_with_a_read_only_server(
    connection: psycopg.Connection, read_only: Callable[[bool], None], heard: list[Sequence[str]]
) -> None:
    """No hints come from it. Where it is not the only one, another connection finds the other."""
    listener = Listener("news", heard.append)
    listener.start()
    try:
        assert listener.connected.wait(10)
        read_only(True)
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'callboard listener'"
        )
        eventually(lambda: not listener.connected.is_set())
        assert not listener.connected.wait(2)  # it tries each second
        read_only(False)
        assert listener.connected.wait(10)
        connection.execute("NOTIFY news, 'back'")
        eventually(lambda: ["back"] in heard)
    finally:
        listener.stop()
