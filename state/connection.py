"""A connection of our own, with a short way for the statements that everything waits for.

psycopg's cursors take longer to adapt and to load than Postgres needs for a submit. These few statements are prepared
once and get their parameters as text; sending and waiting are psycopg's own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
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

from state.statements import numbered, parameters_of, statement

Row = dict[str, Any]
Value = str | float | Sequence[str | int | None]
Parameters = Mapping[str, Value | None]
Shape = tuple[str, tuple[bool, ...]]  # of a call: the statement, and which of its parameters are given

_NUMBERS = (int, float)
_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Prepared(NamedTuple):
    name: bytes
    columns: tuple[str, ...]
    loader: psycopg.abc.Transformer  # knows their types


class Connection(psycopg.Connection[DictRow]):
    keeps_prepared = False  # a pooler in transaction mode does not

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_json_loads(from_json, self)  # several times as fast as Python's own, and there is JSON in nearly every row
        self._hot: dict[Shape, Prepared] = {}
        self._labels = count(1)

    def fetch(self, name: str, parameters: Parameters, *, then: tuple[str, Parameters] | None = None) -> list[Row]:
        """Types of parameters must follow from the statement: nothing is said of them. `then` is a second statement, a
        transaction of its own, which Postgres goes on to without hearing from us in between. Nobody asks what came of
        it."""
        if not self.keeps_prepared:
            rows = self.execute(statement(name), parameters).fetchall()
            if then is not None:
                self.execute(statement(then[0]), then[1])
            return rows
        known, values = self._call(name, parameters)
        if then is None:
            self.pgconn.send_query_prepared(known.name, values)
            result = self._results()[0]
        else:
            result = self._first_of_two(known, values, *self._call(*then))
        known.loader.set_pgresult(_checked(result), set_loaders=False)
        columns = known.columns
        return known.loader.load_rows(0, result.ntuples, lambda row: dict(zip(columns, row, strict=True)))

    def _first_of_two(
        self, known: Prepared, values: list[bytes], next_known: Prepared, next_values: list[bytes]
    ) -> pq.abc.PGresult:
        with self._closing_in_doubt():
            self.pgconn.enter_pipeline_mode()
            self.pgconn.send_query_prepared(known.name, values)
            self.pgconn.pipeline_sync()
            self.pgconn.send_query_prepared(next_known.name, next_values)
            self.pgconn.pipeline_sync()
            (first, *_), *_ = [self._results() for _ in range(4)]  # a sync follows each
            self.pgconn.exit_pipeline_mode()
        return first

    def _call(self, name: str, parameters: Parameters) -> tuple[Prepared, list[bytes]]:
        """Prepared once for each set of parameters that are given: a few, as callers have their habits."""
        values = [parameters[each] for each in parameters_of(name)]
        shape = name, tuple([value is not None for value in values])
        known = self._hot.get(shape) or self._prepare(shape)
        return known, [_text(value) for value in values if value is not None]

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
        raise error_from_result(result)
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
