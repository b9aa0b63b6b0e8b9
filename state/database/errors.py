"""One policy for errors of the database. Each error is of one kind, which says what the caller has to do:

"again"      The transaction was rolled back, and the same one may succeed in a moment.
"reconnect"  The connection is lost or cannot be used any more: its server was demoted, or its prepared statements no
             longer fit the tables. Close it, open another one, and try again there.
"bad row"    Something in the data cannot be stored. It fails each time; other rows of the same write must be written
             without it.
"bug"        An error that is not expected. Log it, and give up nothing that was claimed."""

from typing import Literal

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from state.errors import NotReady

Kind = Literal["again", "reconnect", "bad row", "bug"]

# For `except` outside this package, which does not import psycopg.
DatabaseError = psycopg.Error
DatabaseUnavailable = psycopg.OperationalError  # lost connections, no connection, timeouts, deadlocks
InvalidAddress = psycopg.ProgrammingError  # raised by `connect` for a connection string that is not one
AlreadyExists = errors.UniqueViolation
ValueTooLong = errors.ProgramLimitExceeded  # for an index

# For `except`: all errors that can be "again" or "reconnect". Some of them are neither: ask kind_of.
TRANSIENT = (
    psycopg.OperationalError,  # among others serialization failures, deadlocks, lost connections, a pool's timeout
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
    errors.TransactionTimeout,
    errors.FeatureNotSupported,
    errors.InvalidSqlStatementName,
)

_BAD_ROW = (TypeError, ValueError, RecursionError)  # for values that cannot be sent at all

# By SQLSTATE, or by its first two or three characters.
_KINDS: dict[str, Kind] = {
    "08": "reconnect",  # lost, or refused by a pooler
    "22": "bad row",
    "23514": "bad row",  # a check constraint
    "25006": "reconnect",  # read-only: a standby, a demoted or full server
    "25P03": "reconnect",  # idle in a transaction for too long
    "25P04": "reconnect",  # in one transaction for too long
    "26000": "reconnect",  # a prepared statement that the server does not know
    "40": "again",  # serialization failure, deadlock
    "53": "again",  # disk full, too many connections, out of memory
    "54": "bad row",  # too long for an index, too deep
    "55P03": "again",  # lock timeout
    "57014": "again",  # statement timeout
    "57P": "reconnect",  # the server shuts down, starts up, has crashed
    "58": "again",  # an error of the operating system
}


def kind_of(error: BaseException) -> Kind:
    if isinstance(error, psycopg.Error):
        return _kind_of_psycopg(error)
    if isinstance(error, NotReady):
        return "again"
    return "bad row" if isinstance(error, _BAD_ROW) else "bug"


def breaks_connection(error: BaseException) -> bool:
    """Returns whether the connection must be closed. The others of its pool are likely to fail in the same way."""
    return kind_of(error) == "reconnect" and not isinstance(error, (PoolTimeout, PoolClosed))


def _kind_of_psycopg(error: psycopg.Error) -> Kind:
    state = error.sqlstate
    if state is None:  # from libpq or psycopg, not from the server
        return "bad row" if isinstance(error, psycopg.DataError) else "reconnect" if _is_lost(error) else "bug"
    if state == "0A000":  # "cached plan must not change result type", in any language
        return "reconnect" if error.diag.source_function == "RevalidateCachedQuery" else "bug"
    if state == "57014" and "user request" in str(error):
        return "bug"  # canceled on purpose, by pg_cancel_backend
    return _KINDS.get(state) or _KINDS.get(state[:3]) or _KINDS.get(state[:2]) or "bug"


def _is_lost(error: psycopg.Error) -> bool:
    if isinstance(error, psycopg.InterfaceError):
        return "connection" in str(error)
    return isinstance(error, psycopg.OperationalError) or type(error) is psycopg.DatabaseError
