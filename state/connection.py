"""A connection of our own, with a short way for the statements that everything waits for.

psycopg's cursors take longer to adapt and to load than Postgres needs for a submit. These few statements are prepared
once and get their parameters as text; sending and waiting are psycopg's own."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.rows import DictRow

from state.statements import numbered, statement

Row = dict[str, Any]
Value = str | float | Sequence[str | int | None]
Parameters = Mapping[str, Value | None]

_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Prepared(NamedTuple):
    name: bytes
    parameters: tuple[str, ...]
    columns: tuple[str, ...]


class Connection(psycopg.Connection[DictRow]):
    keeps_prepared = False  # a pooler in transaction mode does not

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hot: dict[str, Prepared] = {}
        self._loader = Transformer(self)

    def fetch(self, name: str, parameters: Parameters, *, then: tuple[str, Parameters] | None = None) -> list[Row]:
        """Types of parameters must follow from the statement: nothing is said of them. `then` is a second statement, a
        transaction of its own, which Postgres goes on to without hearing from us in between. Nobody asks what came
        of it."""
        if not self.keeps_prepared:
            rows = self.execute(statement(name), parameters).fetchall()
            if then is not None:
                self.execute(statement(then[0]), then[1])
            return rows
        with self.lock:
            known = self._known(name)
            if then is None:
                self._send(known, parameters)
                [result] = self._results()
            else:
                result = self._send_both((known, parameters), (self._known(then[0]), then[1]))
            self._loader.set_pgresult(_checked(result))
            return self._loader.load_rows(0, result.ntuples, lambda row: dict(zip(known.columns, row, strict=True)))

    def _known(self, name: str) -> Prepared:
        if name not in self._hot:
            query, parameters = numbered(name)
            self.pgconn.send_prepare(name.encode(), query)
            _checked(*self._results())
            self.pgconn.send_describe_prepared(name.encode())
            [shape] = self._results()
            columns = ((shape.fname(place) or b"").decode() for place in range(_checked(shape).nfields))
            self._hot[name] = Prepared(name.encode(), parameters, tuple(columns))
        return self._hot[name]

    def _send(self, known: Prepared, parameters: Parameters) -> None:
        values = [parameters[each] for each in known.parameters]
        self.pgconn.send_query_prepared(known.name, [None if value is None else _text(value) for value in values])

    def _send_both(self, *calls: tuple[Prepared, Parameters]) -> pq.abc.PGresult:
        """Answers the first's result."""
        try:
            self.pgconn.enter_pipeline_mode()
            for call in calls:
                self._send(*call)
                self.pgconn.pipeline_sync()
            (first, *_), *_ = [self._results() for _ in range(2 * len(calls))]  # a sync follows each
            self.pgconn.exit_pipeline_mode()
        except BaseException:
            self.close()  # who knows what is still on its way
            raise
        return first

    def _results(self) -> list[pq.abc.PGresult]:
        return self.wait(execute(self.pgconn))


def _checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in _GOOD:
        raise error_from_result(result)
    return result


def _text(value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int | float):
        return str(value).encode()
    return ("{" + ",".join(map(_element, value)) + "}").encode()


def _element(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else str(value)
