"""The three ways to the database; see state/database/__init__.py."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from state.database.connection import AnyConnection, Call, Connection, Row, fetch_unprepared
from state.database.parameters import Parameters
from state.database.pool import borrow, get_database


def fetch(
    name: str,
    parameters: Parameters,
    conn: AnyConnection | None = None,
    *,
    then: Call | None = None,
    timeout: float | None = None,
) -> list[Row]:
    """Runs one statement and returns its rows: on `conn`, or as a transaction of its own on a connection of the pool.

    `then` is a second statement for the same round trip, as a transaction of its own; its result and its errors are
    ignored. It is not sent on a connection that the caller has opened with psycopg. `timeout` limits the seconds to
    wait for a connection of the pool."""
    if conn is None:
        with borrow(timeout) as own:
            return own.fetch(name, parameters, then=then)
    if isinstance(conn, Connection):
        return conn.fetch(name, parameters, then=then)
    return fetch_unprepared(conn, name, parameters)


def fetch_one(
    name: str, parameters: Parameters, conn: AnyConnection | None = None, *, timeout: float | None = None
) -> Row | None:
    """Returns the first row of a statement, or None."""
    rows = fetch(name, parameters, conn, timeout=timeout)
    return rows[0] if rows else None


def fetch_each(calls: Sequence[Call], conn: Connection | None = None) -> list[list[Row]]:
    """Runs several statements in one round trip, each as a transaction of its own, and returns the rows of each. If one
    fails, the others are executed all the same, and the error of the first one that failed is raised at the end."""
    if conn is not None:
        return conn.fetch_each(calls)
    with borrow() as own:
        return own.fetch_each(calls)


@contextmanager
def transaction(conn: AnyConnection | None = None) -> Iterator[AnyConnection]:
    """Several statements that commit together: on a connection of the pool, or as a part of the transaction that the
    caller has begun on `conn`."""
    if conn is not None:
        yield conn
        return
    with borrow() as own, own.transaction():
        yield own


def connect(purpose: str, *, direct: bool = False) -> Connection:
    """Opens a connection for the caller alone, in autocommit. `direct`: past the pooler, for code that needs its
    session, such as LISTEN."""
    return get_database().connect(purpose, direct=direct)
