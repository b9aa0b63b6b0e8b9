"""A connection to Postgres that runs named statements fast.

psycopg's cursors need more time to adapt parameters and to load rows than Postgres needs for a submit. So each
statement is prepared once on each connection and gets its parameters as text. Sending and waiting are psycopg's own."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

import psycopg
import psycopg.abc
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from state.database.parameters import Parameters, encode
from state.database.statements import UNPREPARED, numbered, parameters_of, statement

Row = dict[str, Any]
AnyConnection = psycopg.Connection[Any]  # also one that a caller has opened without us
Call = tuple[str, Parameters]  # the name of a statement, and its parameters
Shape = tuple[str, tuple[bool, ...]]  # of a call: the statement, and which of its parameters are not None

Results = list[pq.abc.PGresult]

ANSWER_SECONDS = 45.0
"""The server gives a statement up after 30 s (pool.py), so an answer or an error must have come by now. Something on
the way that keeps the connection open may have lost the server. TCP would not notice, and a worker that waits for ever
writes no ends."""

SIGN_SECONDS = 10.0  # the same for a sign of life

_SUCCESS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.PIPELINE_SYNC)


class Prepared(NamedTuple):
    name: bytes
    columns: tuple[str, ...]
    loader: psycopg.abc.Transformer  # knows the types of the columns

    def load(self, results: Results) -> list[Row]:
        result = _check(results)
        self.loader.set_pgresult(result, set_loaders=False)
        columns = self.columns
        return self.loader.load_rows(0, result.ntuples, lambda row: dict(zip(columns, row, strict=True)))


class PreparedCall(NamedTuple):
    prepared: Prepared
    values: list[bytes]


class Connection(psycopg.Connection[DictRow]):
    keeps_prepared = False  # True unless there is a pooler in transaction mode, which loses prepared statements
    transaction_settings: Parameters | None = None  # of `session`, for such a pooler, which loses a session's settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_json_loads(from_json, self)  # several times faster than Python's own, and nearly every row has JSON
        self._known: dict[Shape, Prepared] = {}  # prepared on this connection
        self._labels = count(1)
        self.opened_at = time.monotonic()

    @classmethod
    def connect(cls, *args: Any, **options: Any) -> "Connection":
        """Notes when the connection was begun: what the server decides at that moment, such as read-only, holds for the
        whole session."""
        begun = time.monotonic()
        connection = super().connect(*args, **options)
        connection.opened_at = begun
        return connection

    def execute(self, *args: Any, **options: Any) -> psycopg.Cursor[DictRow]:
        if self.transaction_settings is None or self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            return super().execute(*args, **options)
        with super().pipeline():  # one round trip, and one transaction
            super().execute(statement("session"), self.transaction_settings)
            return super().execute(*args, **options)

    @contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Iterator[psycopg.Transaction]:
        outermost = self.pgconn.transaction_status == pq.TransactionStatus.IDLE
        with super().transaction(savepoint_name, force_rollback) as block:
            if outermost and self.transaction_settings is not None:
                super().execute(statement("session"), self.transaction_settings)
            yield block
            if self.closed:  # psycopg would leave the block as if it had committed
                raise psycopg.OperationalError("the connection was lost before the commit")

    def fetch(self, name: str, parameters: Parameters, *, then: Call | None = None) -> list[Row]:
        """Returns the rows of a statement. `then` is a second statement, sent in the same round trip as a transaction
        of its own. Its result and its errors are ignored."""
        if not self.keeps_prepared or name in UNPREPARED:
            rows = fetch_unprepared(self, name, parameters)
            if then is not None:
                with suppress(psycopg.Error):
                    self.execute(statement(then[0]), then[1])
            return rows
        call = self._prepare_call(name, parameters)
        if then is None:
            self.pgconn.send_query_prepared(call.prepared.name, call.values)
            results = self._wait_for_results()
        else:
            results = self._send_all([call, self._prepare_call(*then)])[0]
        return call.prepared.load(results)

    def fetch_each(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Returns the rows of each call. Each call is a transaction of its own; all of them are one round trip where
        the connection keeps prepared statements. If a call fails, the others are executed all the same, and the error
        of the first one that failed is raised at the end. The connection stays usable, unless it is lost or the wait is
        interrupted."""
        errors: dict[int, Exception] = {}
        answers = (self._fetch_pipelined if self.keeps_prepared else self._fetch_one_by_one)(calls, errors)
        if errors:
            raise errors[min(errors)]
        return answers

    def _fetch_pipelined(self, calls: Sequence[Call], errors: dict[int, Exception]) -> list[list[Row]]:
        prepared: dict[int, PreparedCall] = {}
        for place, call in enumerate(calls):
            with self._keep_error(errors, place):
                prepared[place] = self._prepare_call(*call)
        answers: list[list[Row]] = []
        for (place, known), results in zip(prepared.items(), self._send_all(prepared.values()), strict=True):
            with self._keep_error(errors, place):
                answers.append(known.prepared.load(results))
        return answers

    def _fetch_one_by_one(self, calls: Sequence[Call], errors: dict[int, Exception]) -> list[list[Row]]:
        answers: list[list[Row]] = []
        for place, call in enumerate(calls):
            with self._keep_error(errors, place):
                answers.append(self.fetch(*call))
        return answers

    @contextmanager
    def _keep_error(self, errors: dict[int, Exception], place: int) -> Iterator[None]:
        """Keeps the error of the call in this place for later, unless the connection is lost."""
        try:
            yield
        except Exception as error:
            if self.closed:
                raise
            errors[place] = error

    def _send_all(self, calls: Collection[PreparedCall]) -> list[Results]:
        """Sends all calls in one round trip. The sync after a call commits it, and can fail as well."""
        if not calls:
            return []
        with self._close_on_error():
            self.pgconn.enter_pipeline_mode()
            for call in calls:
                self.pgconn.send_query_prepared(call.prepared.name, call.values)
                self.pgconn.pipeline_sync()
            answers = [self._wait_for_results() + self._wait_for_results() for _ in calls]  # of the call, of its sync
            self.pgconn.exit_pipeline_mode()
        return answers

    def sync(self) -> None:
        """Waits for a sign of life from the server, without a transaction."""
        with self._close_on_error():
            self.pgconn.enter_pipeline_mode()
            self.pgconn.pipeline_sync()
            self._wait_for_results(SIGN_SECONDS)
            self.pgconn.exit_pipeline_mode()

    def _prepare_call(self, name: str, parameters: Parameters) -> PreparedCall:
        """Prepares the statement unless it is prepared for this shape. There are few shapes of each statement."""
        values = [parameters[each] for each in parameters_of(name)]
        shape = name, tuple([value is not None for value in values])
        known = self._known.get(shape) or self._prepare(shape)
        return PreparedCall(known, [encode(value) for value in values if value is not None])

    def _prepare(self, shape: Shape) -> Prepared:
        name, given = shape
        # The server's log shows this label. It is never used again: if this method is interrupted, the server keeps a
        # prepared statement that we do not know of.
        label = f"{name} {next(self._labels)}".encode()
        self.pgconn.send_prepare(label, numbered(name, given))
        _check(self._wait_for_results())
        self.pgconn.send_describe_prepared(label)
        described = _check(self._wait_for_results())
        columns = ((described.fname(place) or b"").decode() for place in range(described.nfields))
        loader = Transformer(self)
        loader.set_pgresult(described)
        self._known[shape] = known = Prepared(label, tuple(columns), loader)
        return known

    @contextmanager
    def _close_on_error(self) -> Iterator[None]:
        """After an error in the middle of a pipeline it is unknown which results are still to come."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _wait_for_results(self, seconds: float | None = None) -> Results:
        """Raises an error of the kind "reconnect" if the server is silent for so long."""
        return self.wait(execute(self.pgconn), timeout=ANSWER_SECONDS if seconds is None else seconds)


def fetch_unprepared(connection: AnyConnection, name: str, parameters: Parameters) -> list[Row]:
    """Runs a statement through psycopg's own cursor, on any connection."""
    if isinstance(connection, Connection):  # its rows are dicts, and it may have to set its timeouts first
        return _fetch_all(connection.execute(statement(name), parameters, prepare=False))
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return _fetch_all(cursor.execute(statement(name), parameters))


def _fetch_all(cursor: psycopg.Cursor[DictRow]) -> list[Row]:
    return cursor.fetchall() if cursor.description is not None else []


def _check(results: Results) -> pq.abc.PGresult:
    """Returns the first result. Raises the error of any of them: if the commit fails, the error comes second."""
    for result in results:
        if result.status not in _SUCCESS:
            error = error_from_result(result)
            # An error without a SQLSTATE is libpq's own, about the connection; psycopg has no better class for it.
            raise error if error.sqlstate else psycopg.OperationalError(str(error))
    return results[0]
