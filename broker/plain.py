"""dramatiq-pg for the plain Dramatiq actors that people bring along, and the two things to mend in it."""

import threading
from typing import Any

from dramatiq_pg.broker import PostgresConsumer
from dramatiq_pg.utils import make_pool

from state.database import get_database

_LOCKS_KEPT = 64


class LazyPool:
    """dramatiq-pg's pool, made when first used: nothing may connect, or start a database, at import."""

    def __init__(self) -> None:
        self._pool: Any = None
        self._opening = threading.Lock()

    def _opened(self) -> Any:
        with self._opening:  # each consumer's thread asks; a connection must go back to the pool that it came from
            if self._pool is None:
                self._pool = make_pool(get_database().direct_url())
            return self._pool

    @property
    def minconn(self) -> int:
        return int(self._opened().minconn)

    def getconn(self) -> Any:
        return self._opened().getconn()

    def putconn(self, connection: Any) -> None:
        self._opened().putconn(connection)

    def closeall(self) -> None:
        if self._pool is not None:
            self._pool.closeall()
            self._pool = None


class PlainConsumer(PostgresConsumer):
    """Frees advisory locks as messages are done. The stock consumer does so only when it is idle, and under load it
    fills Postgres's lock table and stops for good."""

    def __next__(self) -> Any:
        if self.unlock_q.qsize() > _LOCKS_KEPT:
            self.purge_locks()
        return super().__next__()
