"""The storm's proxy: what it does to a connection is what it says."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.chaos.storm.proxy import PostgresProxy, When
from tests.support.eventually import eventually
from tests.support.observer import Observer


@pytest.fixture
def proxy(database_url: str) -> Iterator[PostgresProxy]:
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    running = PostgresProxy(f"{info['host']}/.s.PGSQL.{info['port']}")
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def through(proxy: PostgresProxy, database_url: str) -> Iterator[psycopg.Connection]:
    options = {"host": "127.0.0.1", "port": proxy.port, "sslmode": "disable", "gssencmode": "disable"}
    connection = psycopg.connect(database_url, **options)
    try:
        yield connection
    finally:
        connection.close()


def count_rows(connection: Observer) -> int:
    n: int = connection.fetch_one("SELECT count(*) AS n FROM kept")["n"]
    return n


@pytest.mark.parametrize(("when", "kept"), [("before", 0), ("after", 1)])
def test_a_commit_gets_lost_or_its_answer_does(
    proxy: PostgresProxy, through: psycopg.Connection, connection: Observer, when: When, kept: int
) -> None:
    connection.execute("CREATE TABLE kept (n integer)")
    through.execute("INSERT INTO kept VALUES (1)")
    proxy.cut_next_commit(when)
    with pytest.raises(psycopg.OperationalError):
        through.commit()
    sessions = "SELECT count(*) AS n FROM pg_stat_activity WHERE query ~ 'INSERT INTO kept|^COMMIT'"
    eventually(lambda: connection.fetch_one(f"{sessions} AND pid <> pg_backend_pid()")["n"] == 0, what="it has ended")
    assert (count_rows(connection), proxy.cuts) == (kept, 1)


@pytest.mark.parametrize("cut", [False, True])
def test_a_half_open_connection_answers_late_or_not_at_all(
    proxy: PostgresProxy, through: psycopg.Connection, cut: bool
) -> None:
    through.execute("SELECT 1")
    assert proxy.fall_silent() == 1
    outcomes: list[str] = []

    def ask() -> None:
        try:
            through.execute("SELECT 2")
            outcomes.append("answered")
        except psycopg.OperationalError:
            outcomes.append("cut")

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.5)
    assert outcomes == []
    proxy.talk(cut=cut)
    asking.join(10)
    assert outcomes == ["cut" if cut else "answered"]
