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
Parameter = str | bytes | float | Sequence[str | int | None] | None

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

    def fetch(self, name: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        """Types of parameters must follow from the statement: nothing is said of them."""
        if not self.keeps_prepared:
            return self.execute(statement(name), parameters).fetchall()
        with self.lock:
            known = self._hot.get(name) or self._prepare(name)
            texts = [_text(parameters[each]) for each in known.parameters]
            self.pgconn.send_query_prepared(known.name, texts)
            result = self._answer()
            self._loader.set_pgresult(result)
            return self._loader.load_rows(
                0, result.ntuples, lambda values: dict(zip(known.columns, values, strict=True))
            )

    def _prepare(self, name: str) -> Prepared:
        query, parameters = numbered(name)
        self.pgconn.send_prepare(name.encode(), query)
        self._answer()
        self.pgconn.send_describe_prepared(name.encode())
        shape = self._answer()
        columns = ((shape.fname(place) or b"").decode() for place in range(shape.nfields))
        self._hot[name] = Prepared(name.encode(), parameters, tuple(columns))
        return self._hot[name]

    def _answer(self) -> pq.abc.PGresult:
        result: pq.abc.PGresult
        [result] = self.wait(execute(self.pgconn))
        if result.status not in _GOOD:
            raise error_from_result(result)
        return result


def _text(value: Parameter) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, int | float):
        return str(value).encode()
    return ("{" + ",".join(map(_element, value)) + "}").encode()


def _element(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else str(value)
