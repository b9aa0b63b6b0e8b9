"""Connections that stay open and carry nothing any more: TCP does not notice, if somebody on the way acknowledges."""

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from state.database import Connection, connect, connection
from state.database.errors import kind_of
from state.database.listener import Listener
from state.database.notifier import EVERYTHING
from state.settings import get_settings
from tests.chaos.storm.proxy import PostgresProxy
from tests.support.eventually import eventually
from tests.support.observer import Observer


@pytest.fixture
def proxy(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresProxy]:
    """All direct connections go through it."""
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    running = PostgresProxy(f"{info['host']}/.s.PGSQL.{info['port']}")
    through: dict[str, Any] = {"host": "127.0.0.1", "port": running.port, "sslmode": "disable", "gssencmode": "disable"}
    monkeypatch.setenv("CALLBOARD_DIRECT_URL", psycopg.conninfo.make_conninfo(database_url, **through))
    get_settings.cache_clear()
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(connection, "SIGN_SECONDS", 0.5)


def ask(own: Connection) -> None:
    own.fetch("proof_others", {"name": "nobody"})


def ask_together(own: Connection) -> None:
    own.fetch_each([("proof_others", {"name": "nobody"})] * 2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("act", [ask, ask_together, Connection.sync])
def test_nobody_waits_for_ever(proxy: PostgresProxy, act: Any) -> None:
    with connect("test", direct=True) as own:
        ask(own)
        assert proxy.drop_packets() == 1
        with pytest.raises(psycopg.OperationalError) as lost:
            act(own)
        assert kind_of(lost.value) == "reconnect"
        own.close()
    with connect("test", direct=True) as another:
        ask(another)


@pytest.mark.usefixtures("impatient")
def test_a_listener_finds_another_connection(proxy: PostgresProxy, connection: Observer) -> None:
    heard: list[Sequence[str]] = []
    listener = Listener("news", heard.append)
    listener.start()
    try:
        eventually(lambda: heard == [[EVERYTHING]], what="it listens")
        proxy.drop_packets()
        eventually(lambda: len(heard) == 2, what="it listens again, and knows that it has missed something")
        connection.execute("NOTIFY news, 'one'")
        eventually(lambda: heard[2:] == [["one"]], what="the hint arrives")
    finally:
        listener.stop()
