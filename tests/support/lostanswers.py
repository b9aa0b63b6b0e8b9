"""Connections that are lost at the worst moment: the work is done, and nobody hears of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from state.database.statements import statement


class LostAnswers:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.lost = 0

    def of_statement(self, name: str, *, done: bool = True, then: Callable[[], object] | None = None) -> None:
        """Loses the connection at the first execution of a statement. `done`: Postgres has executed it. `then` is what
        others do before anybody tries again."""
        real = psycopg.Cursor.execute
        text = statement(name)

        def execute(cursor: Any, query: Any, *rest: Any, **options: Any) -> Any:
            if query != text or self.lost:
                return real(cursor, query, *rest, **options)
            self.lost += 1
            if done:
                real(cursor, query, *rest, **options)
            if then is not None:
                then()
            raise psycopg.OperationalError("the connection is lost")

        self._monkeypatch.setattr(psycopg.Cursor, "execute", execute)

    def of_commit(
        self, *, then: Callable[[], object] | None = None, error: type[psycopg.Error] = psycopg.OperationalError
    ) -> None:
        """Loses the answer to the first COMMIT of a transaction block."""
        real = psycopg.Connection.transaction

        @contextmanager
        def transaction(connection: Any, *rest: Any, **options: Any) -> Iterator[Any]:
            with real(connection, *rest, **options) as block:
                yield block
            if not self.lost:
                self.lost += 1
                if then is not None:
                    then()
                raise error("the connection is lost")

        self._monkeypatch.setattr(psycopg.Connection, "transaction", transaction)
