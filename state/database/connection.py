"""A connection of our own, with a short way for the statements that everything waits for.

psycopg's cursors take longer to adapt and to load than Postgres needs for a submit. These few statements are prepared
once and get their parameters as text; sending and waiting are psycopg's own."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, overload

import psycopg
import psycopg.abc
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from state.database.statements import numbered, parameters_of, statement

Row = dict[str, Any]
Value = str | float | Sequence[str | int | None]
Parameters = Mapping[str, Value | None]
Call = tuple[str, Parameters]  # name of a statement, and what it is given
Shape = tuple[str, tuple[bool, ...]]  # of a call: the statement, and which of its parameters are given

_NUMBERS = (int, float)
_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Prepared(NamedTuple):
    name: bytes
    columns: tuple[str, ...]
    loader: psycopg.abc.Transformer  # knows their types

    def rows(self, result: pq.abc.PGresult) -> list[Row]:
        self.loader.set_pgresult(_checked(result), set_loaders=False)
        columns = self.columns
        return self.loader.load_rows(0, result.ntuples, lambda row: dict(zip(columns, row, strict=True)))


class PreparedCall(NamedTuple):
    prepared: Prepared
    values: list[bytes]


class Connection(psycopg.Connection[DictRow]):
    keeps_prepared = False  # a pooler in transaction mode does not
    transaction_settings: Parameters | None = None  # of `session`; what such a pooler's sessions would lose

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_json_loads(from_json, self)  # several times as fast as Python's own, and there is JSON in nearly every row
        self._hot: dict[Shape, Prepared] = {}
        self._labels = count(1)
        self.opened_at = time.monotonic()

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

    def fetch(self, name: str, parameters: Parameters, *, then: Call | None = None) -> list[Row]:
        """Types of parameters must follow from the statement: nothing is said of them. `then` is a second statement,
        sent in the same round trip as a transaction of its own. Its result and its errors are ignored."""
        if not self.keeps_prepared:
            rows = self.execute(statement(name), parameters).fetchall()
            if then is not None:
                with suppress(psycopg.Error):
                    self.execute(statement(then[0]), then[1])
            return rows
        call = self._call(name, parameters)
        if then is None:
            self.pgconn.send_query_prepared(call.prepared.name, call.values)
            result = self._results()[0]
        else:
            result = self._send_all([call, self._call(*then)])[0]
        return call.prepared.rows(result)

    @overload  # type: ignore[override]  # psycopg names the class of its context manager
    def pipeline(self) -> AbstractContextManager[psycopg.Pipeline]: ...

    @overload
    def pipeline(self, calls: Sequence[Call]) -> list[list[Row]]: ...

    def pipeline(
        self, calls: Sequence[Call] | None = None
    ) -> list[list[Row]] | AbstractContextManager[psycopg.Pipeline]:
        """Returns the rows of each call. Each call is a transaction of its own; all of them are one round trip where
        the connection keeps prepared statements. If one fails, the others are executed all the same, and the error of
        the first is raised at the end. The connection stays usable, unless it is lost or the wait is interrupted.

        Without calls it is psycopg's own pipeline, which executemany needs."""
        if calls is None:
            return super().pipeline()
        errors: dict[int, Exception] = {}
        answers = (self._pipelined if self.keeps_prepared else self._one_by_one)(calls, errors)
        if errors:
            raise errors[min(errors)]
        return answers

    def _pipelined(self, calls: Sequence[Call], errors: dict[int, Exception]) -> list[list[Row]]:
        prepared: dict[int, PreparedCall] = {}
        for place, call in enumerate(calls):
            with self._keeping(errors, place):
                prepared[place] = self._call(*call)
        answers: list[list[Row]] = []
        for (place, known), result in zip(prepared.items(), self._send_all(prepared.values()), strict=True):
            with self._keeping(errors, place):
                answers.append(known.prepared.rows(result))
        return answers

    def _one_by_one(self, calls: Sequence[Call], errors: dict[int, Exception]) -> list[list[Row]]:
        answers: list[list[Row]] = []
        for place, call in enumerate(calls):
            with self._keeping(errors, place):
                answers.append(self.fetch(*call))
        return answers

    @contextmanager
    def _keeping(self, errors: dict[int, Exception], place: int) -> Iterator[None]:
        """Keeps the error of the call in this place for later, unless the connection is lost."""
        try:
            yield
        except Exception as error:
            if self.closed:
                raise
            errors[place] = error

    def _send_all(self, calls: Collection[PreparedCall]) -> list[pq.abc.PGresult]:
        """In one round trip. The sync after a call ends its transaction."""
        if not calls:
            return []
        with self._closing_in_doubt():
            self.pgconn.enter_pipeline_mode()
            for call in calls:
                self.pgconn.send_query_prepared(call.prepared.name, call.values)
                self.pgconn.pipeline_sync()
            answers = [(self._results(), self._results()) for _ in calls]  # to the call, and to its sync
            self.pgconn.exit_pipeline_mode()
        return [results[0] for results, _ in answers]

    def _call(self, name: str, parameters: Parameters) -> PreparedCall:
        """Prepared once for each set of parameters that are given: a few, as callers have their habits."""
        values = [parameters[each] for each in parameters_of(name)]
        shape = name, tuple([value is not None for value in values])
        known = self._hot.get(shape) or self._prepare(shape)
        return PreparedCall(known, [_text(value) for value in values if value is not None])

    def _prepare(self, shape: Shape) -> Prepared:
        name, given = shape
        # A log line says it. Never the same twice: who is interrupted here leaves a statement behind that nobody knows.
        label = f"{name} {next(self._labels)}".encode()
        self.pgconn.send_prepare(label, numbered(name, given))
        _checked(*self._results())
        self.pgconn.send_describe_prepared(label)
        [described] = self._results()
        columns = ((described.fname(place) or b"").decode() for place in range(_checked(described).nfields))
        loader = Transformer(self)
        loader.set_pgresult(described)
        self._hot[shape] = known = Prepared(label, tuple(columns), loader)
        return known

    @contextmanager
    def _closing_in_doubt(self) -> Iterator[None]:
        """Whatever happens in the middle of a pipeline: who knows what is still on its way?"""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _results(self) -> list[pq.abc.PGresult]:
        return self.wait(execute(self.pgconn))


def _checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in _GOOD:
        error = error_from_result(result)
        # Without a SQLSTATE it is libpq's own, about the connection; psycopg has no better class for it.
        raise error if error.sqlstate else psycopg.OperationalError(str(error))
    return result


def _text(value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, _NUMBERS):
        return b"%r" % value
    return _array(tuple(value))


@lru_cache(maxsize=1000)  # queues and gates, the same again and again
def _array(values: tuple[str | int | None, ...]) -> bytes:
    return ("{" + ",".join(map(_element, values)) + "}").encode()


def _element(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else str(value)
