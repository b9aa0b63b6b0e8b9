"""Behind a pooler in transaction mode: nothing that a session would keep can be relied on."""

import time
from collections.abc import Iterator
from contextlib import nullcontext

import psycopg
import pytest

from state import get_task, submit
from state.database import AnyConnection, Call, Connection, connect, fetch, fetch_each, transaction
from state.database import pool as database
from state.database.errors import kind_of
from state.database.pool import borrow
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.roundtrips import count_round_trips

SETTINGS = "SELECT current_setting('lock_timeout') AS lock, current_setting('TimeZone') AS zone"


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database.TIMEOUTS, "lock_timeout", "200ms")
    monkeypatch.setitem(database.TIMEOUTS, "statement_timeout", "700ms")
    monkeypatch.setitem(database.TIMEOUTS, "idle_timeout", "300ms")


@pytest.fixture
def pooled(pgbouncer: str) -> Iterator[Connection]:
    with connect("test") as opened:
        assert not opened.keeps_prepared
        yield opened


@pytest.mark.parametrize("in_transaction", [False, True], ids=["statement", "transaction"])
def test_a_statement_does_not_wait_for_a_locked_row_for_ever(
    short_timeouts: None, pooled: Connection, connection: Observer, in_transaction: bool
) -> None:
    connection.execute("CREATE TABLE demo AS SELECT 1 AS n")
    with connection.transaction():
        connection.execute("UPDATE demo SET n = 2")
        begun = time.monotonic()
        block = pooled.transaction() if in_transaction else nullcontext()
        with pytest.raises(psycopg.errors.LockNotAvailable), block:
            pooled.execute("UPDATE demo SET n = 3")
        assert time.monotonic() - begun < 5
    pooled.execute("UPDATE demo SET n = n + 1")  # the connection is usable, and the commit is there
    assert connection.execute("SELECT n FROM demo").fetchone() == {"n": 3}


def test_every_way_to_a_statement_has_the_timeouts(short_timeouts: None, pooled: Connection) -> None:
    def ask_for(used: AnyConnection) -> dict[str, str]:
        [row] = used.execute(SETTINGS).fetchall()
        return dict(row)

    expected = {"lock": "200ms", "zone": "UTC"}
    assert ask_for(pooled) == expected
    with pooled.transaction():
        assert ask_for(pooled) == expected
        with pooled.transaction():
            assert ask_for(pooled) == expected
    with borrow() as used:
        assert ask_for(used) == expected
    with transaction() as own:
        assert ask_for(own) == expected


def test_statement_and_idle_timeouts(short_timeouts: None, pooled: Connection, connection: Observer) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        pooled.execute("SELECT pg_sleep(20)")
    with pytest.raises(psycopg.Error) as raised, pooled.transaction():  # noqa: PT012
        [row] = pooled.execute("SELECT pg_backend_pid() AS pid").fetchall()
        eventually(lambda: not connection.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [row["pid"]]).rowcount)
        pooled.execute("SELECT 1")
    assert kind_of(raised.value) == "reconnect"


def test_settings_do_not_stay_with_the_connection_of_the_pooler(
    short_timeouts: None, pgbouncer: str, pooled: Connection
) -> None:
    """Others that share it have timeouts of their own, or none."""
    pooled.execute("SELECT 1")
    with pooled.transaction():
        pooled.execute("SELECT 1")
    with psycopg.connect(pgbouncer, autocommit=True) as other:
        assert other.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_statement_is_one_round_trip(pooled: Connection) -> None:
    assert count_round_trips(pooled, lambda: pooled.execute("SELECT 1").fetchall()) == 1
    assert count_round_trips(pooled, lambda: pooled.fetch("alive", {})) == 1


def test_transactions_commit_and_roll_back(pooled: Connection, connection: Observer) -> None:
    connection.execute("CREATE TABLE demo (n integer)")
    with pooled.transaction():
        pooled.execute("INSERT INTO demo VALUES (1)")
        with pytest.raises(psycopg.errors.DivisionByZero), pooled.transaction():  # noqa: PT012
            pooled.execute("INSERT INTO demo VALUES (2)")
            pooled.execute("SELECT 1 / 0")
        pooled.execute("INSERT INTO demo VALUES (3)")
    with pytest.raises(ZeroDivisionError), pooled.transaction():  # noqa: PT012
        pooled.execute("INSERT INTO demo VALUES (4)")
        raise ZeroDivisionError
    with pooled.transaction(force_rollback=True):
        pooled.execute("INSERT INTO demo VALUES (5)")
    with pytest.raises(psycopg.errors.DivisionByZero):
        pooled.execute("INSERT INTO demo SELECT 1 / 0")
    with pooled.cursor() as cursor:
        cursor.executemany("INSERT INTO demo VALUES (%s)", [[6], [7]])
    assert [row["n"] for row in connection.execute("SELECT n FROM demo ORDER BY n")] == [1, 3, 6, 7]


def test_verbs_work_and_the_errors_are_those_of_the_server(pgbouncer: str) -> None:
    tasks = [submit("quick", {"n": n}) for n in range(3)]
    assert [get_task(task.task_id).status for task in tasks] == ["queued"] * 3
    assert fetch_each([("alive", {})]) == [fetch("alive", {})]
    broken: Call = ("settle", {"worker": "w1", "outcomes": "no json", "wait": True})
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        fetch_each([("alive", {}), broken, ("alive", {})])
