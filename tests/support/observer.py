"""A test's own connection to the database, which uses no code of Callboard."""

from typing import Any

import psycopg
import psycopg.abc
from psycopg.rows import dict_row


class Observer(psycopg.Connection[dict[str, Any]]):
    @classmethod
    def open(cls, url: str) -> "Observer":
        """Opens a connection in autocommit. Its rows are dicts."""
        return cls.connect(url, autocommit=True, row_factory=dict_row)

    def fetch_one(self, query: str, parameters: psycopg.abc.Params | None = None) -> dict[str, Any]:
        """Returns the first row. Fails if there is none."""
        row = self.execute(query, parameters).fetchone()
        assert row is not None, query
        return row
