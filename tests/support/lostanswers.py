"""Connections that are lost at the worst moment: the statement has been executed, and its answer never arrives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import psycopg
import pytest

from state.database import Connection, Row
from state.database.statements import statement


class LostAnswers:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.lost = 0

    def of_statement(self, name: str, *, done: bool = True, then: Callable[[], object] | None = None) -> None:
        """Loses the connection at the first execution of a statement. `done`: Postgres has executed it. `then` is what
        others do before it is tried again."""

        def lose(act: Callable[[], object]) -> NoReturn:
            self.lost += 1
            if done:
                act()
            if then is not None:
                then()
            raise psycopg.OperationalError("the connection is lost")

        fetch, execute, text = Connection.fetch, psycopg.Cursor.execute, statement(name)

        def fetch_or_lose(own: Connection, asked: str, *rest: Any, **options: Any) -> list[Row]:
            if asked == name and not self.lost:
                lose(lambda: fetch(own, asked, *rest, **options))
            return fetch(own, asked, *rest, **options)

        def execute_or_lose(cursor: Any, query: Any, *rest: Any, **options: Any) -> Any:
            """For connections that callers have opened themselves."""
            if query == text and not self.lost:
                lose(lambda: execute(cursor, query, *rest, **options))
            return execute(cursor, query, *rest, **options)

        self._monkeypatch.setattr(Connection, "fetch", fetch_or_lose)
        self._monkeypatch.setattr(psycopg.Cursor, "execute", execute_or_lose)

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
