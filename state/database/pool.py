"""The connections of a process: one pool, opened when it is first used. Never at import: Dramatiq forks after that."""

import os
import threading
import time
from contextlib import suppress
from typing import Any

from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from state.database.connection import Connection
from state.database.embedded import EmbeddedPostgres
from state.database.errors import breaks_connection
from state.database.statements import statement
from state.settings import get_settings

# For every transaction: set for the session, or for each transaction where a pooler loses the session's settings.
TIMEOUTS = {"statement_timeout": "30s", "lock_timeout": "10s", "idle_timeout": "60s"}

# A server that has vanished is given up after about ten seconds, whether we wait for its answer or it has not even
# acknowledged what we sent (for that the kernel would try for a quarter of an hour).
_KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "connect_timeout": 5,
}


class Database:
    """The address of the database, and this process's connections to it."""

    def __init__(self) -> None:
        settings = get_settings()
        self._embedded = EmbeddedPostgres(settings.data_dir, f"callboard_{settings.database_role}")
        self._url = settings.database_url
        self._direct_url = settings.direct_url
        # A pooler in transaction mode loses what a session has prepared or set.
        self._has_pooler = settings.direct_url is not None and settings.direct_url != settings.database_url
        self._pool: ConnectionPool[Connection] | None = None
        self._threads = settings.threads
        self._warm: list[Connection] = []  # taken out of the pool, at most one
        self._renewed_at = 0.0
        self._opening = threading.Lock()  # many threads may be the first

    def url(self) -> str:
        return self._url or self._embedded.url()

    def direct_url(self) -> str:
        """The address without a pooler."""
        return self._direct_url or self.url()

    def connect(self, purpose: str, *, direct: bool = False) -> Connection:
        """Opens a connection outside the pool, in autocommit. pg_stat_activity shows its purpose."""
        url = self.direct_url() if direct else self.url()
        connection = Connection.connect(
            url, autocommit=True, row_factory=dict_row, application_name=f"callboard {purpose}", **_KEEPALIVES
        )
        self._configure(connection, prepare=direct or not self._has_pooler)
        return connection

    def size_for(self, threads: int) -> None:
        """Makes room for this many threads that use the pool at once, before or after it is opened."""
        with self._opening:
            self._threads = threads
            if self._pool is not None:
                self._pool.resize(1, self._pool_size())

    def _pool_size(self) -> int:
        return self._threads + 5  # one may be the warm one; the others are for the process's own threads

    def pool(self) -> ConnectionPool[Connection]:
        """Returns the pool; opens it if it is not open."""
        if self._pool is None:
            with self._opening:
                self._pool = self._pool or self._open_pool()
        return self._pool

    def _open_pool(self) -> ConnectionPool[Connection]:
        return ConnectionPool(
            self.url(),
            connection_class=Connection,
            min_size=1,
            max_size=self._pool_size(),
            open=True,
            timeout=10,
            kwargs={"autocommit": True, "row_factory": dict_row, "application_name": "callboard", **_KEEPALIVES},
            configure=lambda connection: self._configure(connection, prepare=not self._has_pooler),
            reconnect_timeout=5,
        )

    def take(self, timeout: float | None = None) -> Connection:
        """Takes a connection out of the pool. The pool hands out the one that has rested longest, and so goes round all
        connections that a busy moment has opened. The one that was used last, the warm one, is preferred: Postgres has
        its plans and pages at hand."""
        try:
            return self._warm.pop()
        except IndexError:
            pass
        pool = self.pool()
        while not self._is_current(connection := pool.getconn(timeout)):  # it was being opened while others were closed
            connection.close()
            pool.putconn(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        if self._pool is None:  # closed meanwhile
            connection.close()
        elif (
            not self._warm
            and self._is_current(connection)
            and connection.pgconn.transaction_status == TransactionStatus.IDLE
        ):
            self._warm.append(connection)  # if two threads do so at the same moment, two are kept
        else:
            self._pool.putconn(connection)

    def discard(self, connection: Connection) -> None:
        """Closes a connection that cannot be used any more, and all that were opened before this moment: after a
        failover or a migration the other connections of the pool would fail one after the other."""
        connection.close()
        if (pool := self._pool) is not None and self._is_current(connection):
            self._renewed_at = time.monotonic()
            with suppress(IndexError):  # other threads take from it at the same time
                while True:
                    pool.putconn(self._warm.pop())
            pool.drain()

    def _is_current(self, connection: Connection) -> bool:
        return connection.opened_at > self._renewed_at

    def _configure(self, connection: Connection, *, prepare: bool) -> None:
        # If psycopg itself prepared something, it would drop all prepared statements after a rollback, ours as well.
        connection.prepare_threshold = None
        if prepare:
            connection.execute(statement("session"), {**TIMEOUTS, "is_local": False})
            connection.keeps_prepared = True
        else:
            connection.transaction_settings = {**TIMEOUTS, "is_local": True}

    def close(self) -> None:
        if self._pool is not None:
            while self._warm:
                self._pool.putconn(self._warm.pop())
            self._pool.close()
            self._pool = None
        self._embedded.release()


_database: Database | None = None
_creating = threading.Lock()


def get_database() -> Database:
    global _database
    if (database := _database) is None:
        with _creating:
            database = _database = _database or Database()
    return database


def close_database() -> None:
    """Closes all connections of this process; the next use opens new ones."""
    global _database
    if _database is not None:
        _database.close()
        _database = None


def _forget_after_fork() -> None:
    global _database, _creating
    _database, _creating = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)


class borrow:  # noqa: N801  (used like a function; a generator would take twice as long as the pool itself)
    """A connection of the pool for a moment: `with borrow() as connection`. `timeout`: seconds to wait for it."""

    def __init__(self, timeout: float | None = None) -> None:
        self._timeout = timeout

    def __enter__(self) -> Connection:
        self._database = get_database()
        self._taken = self._database.take(self._timeout)
        return self._taken

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None and breaks_connection(error):
            self._database.discard(self._taken)
        self._database.give_back(self._taken)
