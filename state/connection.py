"""A connection of our own, with a short way for the statements that everything waits for.

psycopg prepares, adapts and waits in Python, which takes twice as long as Postgres needs for a submit. These few
statements go through libpq's own call instead (it releases the GIL), with their parameters as text."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.rows import DictRow

from state.statements import numbered, statement

Row = dict[str, Any]
Parameter = str | float | Sequence[str] | None

_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Connection(psycopg.Connection[DictRow]):
    keeps_prepared = False  # a pooler in transaction mode does not

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._here: set[str] = set()  # what is prepared
        self._loader = Transformer(self)

    def fetch(self, name: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        """Types of parameters must follow from the statement: nothing is said of them."""
        if not self.keeps_prepared:
            return self.execute(statement(name), parameters).fetchall()
        query, names = numbered(name)
        with self.lock:
            if name not in self._here:
                self._checked(self.pgconn.prepare(name.encode(), query))
                self._here.add(name)
            texts = [_text(parameters[each]) for each in names]
            result = self._checked(self.pgconn.exec_prepared(name.encode(), texts))  # type: ignore[arg-type]  # None: NULL
            self._loader.set_pgresult(result)
            columns = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
            return self._loader.load_rows(0, result.ntuples, lambda values: dict(zip(columns, values, strict=True)))

    def _checked(self, result: pq.abc.PGresult) -> pq.abc.PGresult:
        if result.status in _GOOD:
            return result
        if result.error_field(pq.DiagnosticField.SQLSTATE) is None:  # not Postgres says so, but libpq: it is gone
            self.close()  # libpq may need another try to see it
            raise psycopg.OperationalError(result.get_error_message())
        raise error_from_result(result)


def _text(value: Parameter) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int | float):
        return str(value).encode()
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in value)
    return ("{" + ",".join(f'"{each}"' for each in quoted) + "}").encode()
