"""What is said to a connection that listens, is heard; whatever else it does."""

from collections.abc import Callable, Iterator, Sequence

import psycopg
import pytest

from state.database.connection import Connection
from state.database.listener import Channel, Listener, WakePipe, require_writable
from state.database.notifier import EVERYTHING
from tests.support.eventually import eventually


@pytest.fixture
def wake_pipe() -> Iterator[WakePipe]:
    wake_pipe = WakePipe()
    yield wake_pipe
    wake_pipe.close()


@pytest.fixture
def heard() -> list[Sequence[str]]:
    return []


@pytest.fixture
def listening(desk: Connection, wake_pipe: WakePipe, heard: list[Sequence[str]]) -> Channel:
    return Channel(desk, "news", heard.append, wake_pipe)


def test_who_begins_to_listen_must_look_at_everything(listening: Channel, heard: list[Sequence[str]]) -> None:
    assert heard == [[EVERYTHING]]
    assert not listening.wait(0)


def test_a_hint_ends_the_wait(listening: Channel, heard: list[Sequence[str]], connection: psycopg.Connection) -> None:
    connection.execute("NOTIFY news, 'one,two'")
    assert listening.wait(10)
    assert heard[1:] == [["one", "two"]]


def test_what_arrives_beside_an_answer_is_heard_too(
    listening: Channel, heard: list[Sequence[str]], desk: Connection
) -> None:
    desk.fetch("notify", {"channel": "news", "payload": "along"})
    listening.wait(0)
    assert heard[1:] == [["along"]]


def test_a_nudge_ends_the_wait_once(listening: Channel, wake_pipe: WakePipe, heard: list[Sequence[str]]) -> None:
    for _ in range(100_000):  # more than the pipe holds: nobody who nudges waits
        wake_pipe.wake()
    while listening.wait(0):
        pass
    wake_pipe.wake()
    assert listening.wait(10)
    assert not listening.wait(0)
    assert heard == [[EVERYTHING]]


def test_a_lost_connection_is_no_silence(listening: Channel, desk: Connection, connection: psycopg.Connection) -> None:
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [desk.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):  # noqa: PT012
        while listening.wait(10):  # its last words come first
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
