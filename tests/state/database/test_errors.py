"""One policy for errors of the database, with the errors of a real server."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from state import get_task, submit
from state.database import Connection, close_database, fetch, get_database, retrying, statements, transaction
from state.database import connection as connections
from state.database import pool as database
from state.database.errors import TRANSIENT, breaks_connection, kind_of
from state.database.pool import borrow
from state.errors import NotReady
from tests.support.observer import Observer


def error_of(act: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011
        act()
    return raised.value


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT 1 / 0", "bad row"),
        ("SELECT 'x'::jsonb", "bad row"),
        ("SELECT E'\\\\u0000'::jsonb", "bad row"),
        ("INSERT INTO demo VALUES (-1)", "bad row"),
        ("SELECT repeat('((', 30000)::tsquery", "bad row"),
        ("INSERT INTO demo VALUES (1), (1)", "bug"),
        ("SELECT nothing", "bug"),
        ("EXECUTE nothing", "reconnect"),
        ("SET statement_timeout = 10; SELECT pg_sleep(5)", "again"),
        ("BEGIN READ ONLY; INSERT INTO demo VALUES (1)", "reconnect"),
        ("DO $$BEGIN RAISE SQLSTATE '40001'; END$$", "again"),
        ("DO $$BEGIN RAISE SQLSTATE '53100'; END$$", "again"),
        ("DO $$BEGIN RAISE SQLSTATE '0A000'; END$$", "bug"),
        ("SELECT pg_terminate_backend(pg_backend_pid())", "reconnect"),
        ("SELECT pg_cancel_backend(pg_backend_pid())", "bug"),
    ],
)
def test_errors_of_a_server(worker_connection: Connection, statement: str, kind: str) -> None:
    worker_connection.execute("CREATE TABLE demo (n integer PRIMARY KEY CHECK (n > 0))", prepare=False)
    error = error_of(lambda: psycopg.Connection.execute(worker_connection, statement, prepare=False))
    assert kind_of(error) == kind, repr(error)
    if kind in ("again", "reconnect"):
        assert isinstance(error, TRANSIENT)


def test_errors_of_the_driver(worker_connection: Connection) -> None:
    for value in ("\ud800", "\x00"):
        assert kind_of(error_of(lambda: worker_connection.execute("SELECT %s::text", [value]))) == "bad row"  # noqa: B023
    worker_connection.close()
    assert kind_of(error_of(lambda: worker_connection.execute("SELECT 1"))) == "reconnect"
    assert kind_of(error_of(lambda: worker_connection.fetch("alive", {}))) == "reconnect"
    assert kind_of(error_of(lambda: psycopg.connect("host=/nowhere"))) == "reconnect"
    assert kind_of(PoolTimeout()) == "reconnect"
    assert not breaks_connection(PoolTimeout())


def test_other_errors() -> None:
    kinds = [kind_of(error) for error in (ValueError(), RecursionError(), NotReady(), KeyError(), KeyboardInterrupt())]
    assert kinds == ["bad row", "bad row", "again", "bug", "bug"]


def test_a_lock_timeout_is_tried_again(
    worker_connection: Connection, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database.TIMEOUTS, "lock_timeout", "50ms")
    submit("quick", {})
    refused = threading.Event()

    def note(act: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            try:
                return act(*args, **kwargs)
            except psycopg.errors.LockNotAvailable:
                refused.set()
                raise

        return noting

    monkeypatch.setattr(Connection, "fetch", note(Connection.fetch))
    close_database()  # what it opens from here on has the shorter timeout
    with ThreadPoolExecutor(1) as threads:
        with connection.transaction():
            connection.execute("LOCK TABLE callboard.tasks")
            submitting = threads.submit(submit, "quick", {})
            assert refused.wait(10)
        assert get_task(submitting.result(10).task_id).status == "queued"


def test_a_server_that_was_read_only_for_a_while(read_only: Callable[[bool], None], connection: Observer) -> None:
    """Submits succeed again without a restart, and no connection of the pool stays read-only."""
    read_only(True)
    close_database()
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        submit("quick", {})
    with ThreadPoolExecutor(6) as threads:  # so that there are several connections, all of them read-only
        list(threads.map(lambda _: fetch("alive", {}), range(60)))
    read_only(False)
    assert get_task(submit("quick", {}).task_id).status == "queued"
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: is_read_only(), range(60)))
    assert set(answers) == {"off"}


def test_a_connection_that_was_being_opened_while_others_were_closed_is_not_used(database_url: str) -> None:
    """Its session began before the switch, and it came into the pool after that."""
    ours = get_database()
    late, lost = ours.take(), ours.connect("test")
    ours.discard(lost)
    ours.pool().putconn(late)
    used = ours.take()
    try:
        assert (late.closed, used.closed) == (True, False)
    finally:
        ours.give_back(used)


def is_read_only() -> str:
    with borrow() as used:
        [row] = used.execute("SHOW transaction_read_only").fetchall()
        return str(row["transaction_read_only"])


def test_one_lost_connection_replaces_all_that_are_as_old(connection: Observer, database_url: str) -> None:
    """After a restart of Postgres a pool is full of dead connections. One error is enough to see that."""
    held = [get_database().take() for _ in range(8)]
    for each in held:
        get_database().give_back(each)
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with pytest.raises(psycopg.OperationalError):
        fetch("alive", {})
    for _ in range(9):
        assert len(fetch("alive", {})) == 1
        with borrow() as used:
            assert not used.closed


@pytest.fixture
def whole_rows(monkeypatch: pytest.MonkeyPatch, connection: Observer) -> None:
    """Adds a statement `demo` that reads all columns of a table."""
    connection.execute("CREATE TABLE demo (n integer)")
    connection.execute("INSERT INTO demo VALUES (1)")
    known = statements.statement
    known_here = {"demo": "SELECT * FROM demo"}
    for module in (statements, connections, database):
        monkeypatch.setattr(module, "statement", lambda name: known_here.get(name) or known(name))


def test_a_new_column_under_a_prepared_statement(whole_rows: None, connection: Observer) -> None:
    with ThreadPoolExecutor(4) as threads:  # several connections have prepared it
        list(threads.map(lambda _: [fetch("demo", {}) for _ in range(10)], range(4)))
    connection.execute("ALTER TABLE demo ADD COLUMN more integer")
    with pytest.raises(psycopg.errors.FeatureNotSupported) as raised:
        fetch("demo", {})
    assert breaks_connection(raised.value)
    assert fetch("demo", {}) == [{"n": 1, "more": None}]
    connection.execute("ALTER TABLE demo ADD COLUMN most integer")
    assert retrying(fetch)("demo", {}) == [{"n": 1, "more": None, "most": None}]


def test_a_connection_of_the_pool_is_not_given_back_broken(worker_connection: Connection) -> None:
    for taking in (transaction, borrow):
        with pytest.raises(psycopg.errors.InvalidSqlStatementName), taking() as used:
            used.execute("EXECUTE nothing", prepare=False)
        assert used.closed
        with pytest.raises(psycopg.errors.DivisionByZero), taking() as used:
            used.execute("SELECT 1 / 0")
        assert not used.closed


def test_a_statement_timeout_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    tries = 0

    @retrying
    def read() -> None:
        nonlocal tries
        tries += 1
        raise psycopg.errors.QueryCanceled

    with pytest.raises(psycopg.errors.QueryCanceled):
        read()
    assert tries == 1


def test_nothing_is_tried_again_inside_the_callers_transaction(connection: Observer) -> None:
    tries = 0

    @retrying
    def write(*, conn: Observer | None = None) -> None:
        nonlocal tries
        tries += 1
        raise psycopg.errors.SerializationFailure

    with pytest.raises(psycopg.errors.SerializationFailure):
        write(conn=connection)
    assert tries == 1


def test_the_pool_has_room_for_the_threads_of_the_worker(database_url: str) -> None:
    """`dramatiq -t` decides, not the setting."""
    get_database().size_for(20)
    held = [get_database().take() for _ in range(21)]
    for each in held:
        get_database().give_back(each)
    get_database().size_for(30)  # also when it is open
    held = [get_database().take() for _ in range(31)]
    for each in held:
        get_database().give_back(each)
