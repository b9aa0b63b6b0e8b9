"""What a proof does to its own scratch database: rows that stay locked, connections that are ended."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from state.database import Connection, Row, connect, fetch, fetch_one
from state.database.pool import TIMEOUTS


@contextmanager
def hold_gate(key: str) -> Iterator[None]:
    with _hold() as connection:
        fetch("proof_lock_gate", {"key": key}, connection)
        yield


@contextmanager
def hold_rows(tables: Sequence[str]) -> Iterator[None]:
    """All rows of these tables that nobody else has locked."""
    with _hold() as connection:
        for table in tables:
            fetch(f"proof_lock_{table}", {}, connection)
        yield


@contextmanager
def _hold() -> Iterator[Connection]:
    """Nothing but the caller ends the transaction."""
    with connect("proof", direct=True) as connection:
        fetch("session", {**TIMEOUTS, "idle_timeout": "0", "is_local": False}, connection)
        with connection.transaction(force_rollback=True):
            yield connection


def cut_connections(share: float, *, listening: bool) -> int:
    """Ends about this share of the connections, only those that listen if asked. Returns their number."""
    with connect("proof", direct=True) as connection:
        [row] = fetch("proof_cut", {"share": share, "listening": listening}, connection)
    ended: int = row["ended"]
    return ended


def find_maintainer() -> int | None:
    """Returns the pid of its process."""
    row: Row | None = fetch_one("proof_maintainer", {})
    return None if row is None else row["pid"]
