"""Access to Postgres. All other code uses one of three ways:

1. `fetch` and `fetch_one` run a single statement of state/sql by its name, `fetch_each` several in one round trip. Each
   statement is a transaction of its own, on a connection of the process's pool. With `conn` they run on the caller's
   connection, as a part of the caller's transaction.
2. `transaction` is for several statements that commit together.
3. `connect` opens a connection of the caller's own: for a thread that uses one all the time, or that listens.

`retrying` repeats a verb whose error says that another try can help (state/database/errors.py)."""

from state.database.connection import AnyConnection, Call, Connection, Row
from state.database.parameters import Parameters
from state.database.pool import close_database, get_database
from state.database.queries import connect, fetch, fetch_each, fetch_one, transaction
from state.database.retries import retrying

__all__ = [
    "AnyConnection",
    "Call",
    "Connection",
    "Parameters",
    "Row",
    "close_database",
    "connect",
    "fetch",
    "fetch_each",
    "fetch_one",
    "get_database",
    "retrying",
    "transaction",
]
