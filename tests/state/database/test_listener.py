"""A connection that listens receives hints, also while it runs statements."""

from collections.abc import Callable, Iterator, Sequence

import psycopg
import pytest

from state.database import Connection
from state.database.listener import Channel, Listener, WakePipe, require_writable
from state.database.notifier import EVERYTHING
from tests.support.eventually import eventually
from tests.support.observer import Observer


@pytest.fixture
def wake_pipe() -> Iterator[WakePipe]:
    wake_pipe = WakePipe()
    yield wake_pipe
    wake_pipe.close()


@pytest.fixture
def heard() -> list[Sequence[str]]:
    return []


@pytest.fixture
def listening(worker_connection: Connection, wake_pipe: WakePipe, heard: list[Sequence[str]]) -> Channel:
    return Channel(worker_connection, "news", heard.append, wake_pipe)


def test_a_new_listener_must_read_everything(listening: Channel, heard: list[Sequence[str]]) -> None:
    assert heard == [[EVERYTHING]]
    assert not listening.wait(0)


def test_a_hint_ends_the_wait(listening: Channel, heard: list[Sequence[str]], connection: Observer) -> None:
    connection.execute("NOTIFY news, 'one,two'")
    assert listening.wait(10)
    assert heard[1:] == [["one", "two"]]


def test_a_hint_that_arrives_with_an_answer_is_heard(
    listening: Channel, heard: list[Sequence[str]], worker_connection: Connection
) -> None:
    worker_connection.fetch("notify", {"channel": "news", "payload": "along"})
    listening.wait(0)
    assert heard[1:] == [["along"]]


def test_the_wake_pipe_ends_the_wait_once(listening: Channel, wake_pipe: WakePipe, heard: list[Sequence[str]]) -> None:
    for _ in range(100_000):  # more than the pipe holds: writing to it never blocks
        wake_pipe.wake()
    while listening.wait(0):
        pass
    wake_pipe.wake()
    assert listening.wait(10)
    assert not listening.wait(0)
    assert heard == [[EVERYTHING]]


def test_a_lost_connection_raises_an_error(
    listening: Channel, worker_connection: Connection, connection: Observer
) -> None:
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [worker_connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):  # noqa: PT012
        while listening.wait(10):  # the server's last message comes first
            pass


def test_a_server_that_became_read_only_is_noticed(worker_connection: Connection) -> None:
    require_writable(worker_connection)
    worker_connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        require_writable(worker_connection)


def test_the_check_is_no_transaction_and_hears_hints(
    listening: Channel, heard: list[Sequence[str]], worker_connection: Connection, connection: Observer
) -> None:
    pid = worker_connection.info.backend_pid
    asked = "SELECT query, query_start, xact_start FROM pg_stat_activity WHERE pid = %s"
    before = connection.fetch_one(asked, [pid])
    for number in range(3):
        connection.execute(f"NOTIFY news, 'n{number}'")
        require_writable(worker_connection)
    assert connection.fetch_one(asked, [pid]) == before
    while listening.wait(0):
        pass
    assert sorted(map(list, heard[1:])) == [["n0"], ["n1"], ["n2"]]
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(psycopg.OperationalError):
        require_writable(worker_connection)


def test_a_listener_does_not_stay_with_a_read_only_server(
    connection: Observer, read_only: Callable[[bool], None], heard: list[Sequence[str]]
) -> None:
    """A read-only server sends no hints. Another connection may find one that is not read-only."""
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
