"""Moves the database's clock, for every connection at once, instead of sleeping."""

from typing import Any

import psycopg


class Clock:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._shift = 0.0

    def advance(self, seconds: float) -> None:
        self._shift += seconds
        self._connection.execute(
            "CREATE OR REPLACE FUNCTION callboard.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE "
            f"AS 'SELECT statement_timestamp() + interval ''{self._shift} seconds'''"
        )
