"""Behind a pooler in transaction mode: nothing that a session would keep can be relied on."""

import time
from collections.abc import Iterator
from contextlib import nullcontext

import psycopg
import pytest

from state import get_task, submit
from state.database import pool as database
from state.database.connection import Connection
from state.database.errors import kind_of
from state.database.pool import connection as pool_connection
from state.database.pool import fetch, fetch_often, get_database, pooled
from tests.support.eventually import eventually
from tests.support.roundtrips import count_round_trips

SETTINGS = "SELECT current_setting('lock_timeout') AS lock, current_setting('TimeZone') AS zone"


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database.TIMEOUTS, "lock_timeout", "200ms")
    monkeypatch.setitem(database.TIMEOUTS, "statement_timeout", "700ms")
    monkeypatch.setitem(database.TIMEOUTS, "idle_timeout", "300ms")


@pytest.fixture
def unpooled(pgbouncer: str) -> Iterator[Connection]:
    with get_database().connect("test") as opened:
        assert not opened.keeps_prepared
        yield opened


@pytest.mark.parametrize("in_transaction", [False, True], ids=["statement", "transaction"])
def test_a_statement_does_not_wait_for_a_locked_row_for_ever(
    short_timeouts: None, unpooled: Connection, connection: psycopg.Connection, in_transaction: bool
) -> None:
    connection.execute("CREATE TABLE demo AS SELECT 1 AS n")
    with connection.transaction():
        connection.execute("UPDATE demo SET n = 2")
        begun = time.monotonic()
        block = unpooled.transaction() if in_transaction else nullcontext()
        with pytest.raises(psycopg.errors.LockNotAvailable), block:
            unpooled.execute("UPDATE demo SET n = 3")
        assert time.monotonic() - begun < 5
    unpooled.execute("UPDATE demo SET n = n + 1")  # the connection is usable, and the commit is there
    assert connection.execute("SELECT n FROM demo").fetchone() == {"n": 3}


def test_every_way_to_a_statement_has_the_timeouts(short_timeouts: None, unpooled: Connection) -> None:
    def ask_for(used: Connection) -> dict[str, str]:
        return used.execute(SETTINGS).fetchone()

    expected = {"lock": "200ms", "zone": "UTC"}
    assert ask_for(unpooled) == expected
    with unpooled.transaction():
        assert ask_for(unpooled) == expected
        with unpooled.transaction():
            assert ask_for(unpooled) == expected
    with pooled() as used:
        assert ask_for(used) == expected
    with pool_connection() as used:
        assert ask_for(used) == expected


def test_statement_and_idle_timeouts(
    short_timeouts: None, unpooled: Connection, connection: psycopg.Connection
) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        unpooled.execute("SELECT pg_sleep(20)")
    with pytest.raises(psycopg.Error) as raised, unpooled.transaction():  # noqa: PT012
        pid = unpooled.execute("SELECT pg_backend_pid() AS pid").fetchone()["pid"]
        eventually(lambda: not connection.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).rowcount)
        unpooled.execute("SELECT 1")
    assert kind_of(raised.value) == "reconnect"


def test_what_was_set_does_not_stay_with_the_server_connection(
    short_timeouts: None, pgbouncer: str, unpooled: Connection
) -> None:
    """Others that share it have timeouts of their own, or none."""
    unpooled.execute("SELECT 1")
    with unpooled.transaction():
        unpooled.execute("SELECT 1")
    with psycopg.connect(pgbouncer, autocommit=True) as other:
        assert other.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_statement_is_one_round_trip(unpooled: Connection) -> None:
    assert count_round_trips(unpooled, lambda: unpooled.execute("SELECT 1").fetchall()) == 1
    assert count_round_trips(unpooled, lambda: unpooled.fetch("alive", {})) == 1


def test_transactions_commit_and_roll_back(unpooled: Connection, connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE demo (n integer)")
    with unpooled.transaction():
        unpooled.execute("INSERT INTO demo VALUES (1)")
        with pytest.raises(psycopg.errors.DivisionByZero), unpooled.transaction():  # noqa: PT012
            unpooled.execute("INSERT INTO demo VALUES (2)")
            unpooled.execute("SELECT 1 / 0")
        unpooled.execute("INSERT INTO demo VALUES (3)")
    with pytest.raises(ZeroDivisionError), unpooled.transaction():  # noqa: PT012
        unpooled.execute("INSERT INTO demo VALUES (4)")
        raise ZeroDivisionError
    with unpooled.transaction(force_rollback=True):
        unpooled.execute("INSERT INTO demo VALUES (5)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        unpooled.execute("INSERT INTO demo SELECT 1 / 0")
    with unpooled.cursor() as cursor:
        cursor.executemany("INSERT INTO demo VALUES (%s)", [[6], [7]])
    assert [row["n"] for row in connection.execute("SELECT n FROM demo ORDER BY n")] == [1, 3, 6, 7]


def test_verbs_work_and_the_errors_are_those_of_the_server(pgbouncer: str) -> None:
    tasks = [submit("quick", {"n": n}) for n in range(3)]
    assert [get_task(task.task_id).status for task in tasks] == ["queued"] * 3
    assert fetch("alive", {}) == fetch_often("alive", {})
    with pooled() as used, pytest.raises(psycopg.errors.InvalidTextRepresentation):
        used.pipeline([("alive", {}), ("settle", {"worker": "w1", "outcomes": "no json", "wait": True}), ("alive", {})])
