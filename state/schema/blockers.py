"""Finds out which sessions hold the lock that a connection waits for. A second connection asks while the first one
waits: afterwards Postgres does not know any more."""

import threading
from contextlib import suppress
from types import TracebackType

import psycopg

from state.database.connection import Row
from state.database.pool import get_database
from state.database.statements import statement

_EVERY = 0.5  # seconds; a wait is given up after two
_LONGEST_QUERY = 80  # characters


class BlockerWatch:
    """Asks regularly and keeps the last sessions that it saw."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: list[Row] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="blockers", daemon=True)

    def __enter__(self) -> "BlockerWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        if self._over.wait(_EVERY):  # usually nothing waits
            return
        with suppress(psycopg.Error), get_database().connect("migrate", direct=True) as connection:
            while not self._over.wait(_EVERY):
                rows = connection.execute(statement("schema_blockers"), {"pid": self._pid}).fetchall()
                self._seen = rows or self._seen

    def describe(self) -> str:
        return "; ".join(_describe(row) for row in self._seen) or "could not be found out"


def _describe(row: Row) -> str:
    query = " ".join((row["query"] or "").split())[:_LONGEST_QUERY]
    name = row["application_name"] or "unnamed"
    return (
        f"process {row['pid']} ({name}, user {row['usename']}), {row['state']}, its transaction open for "
        f"{row['open_seconds'] or 0:.0f} s, last statement: {query}"
    )
