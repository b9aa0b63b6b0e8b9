"""A database's clock that stands still until it is moved: what a test does in a minute, it does in that minute."""

from datetime import UTC, datetime, timedelta

from psycopg import sql

from tests.support.observer import Observer

START = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)


class StandingClock:
    def __init__(self, connection: Observer) -> None:
        self._connection = connection
        self.set(START)

    def set(self, moment: datetime) -> None:
        self.now = moment
        self._connection.execute(
            sql.SQL(
                "CREATE OR REPLACE FUNCTION callboard.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS {}"
            ).format(sql.Literal(f"SELECT '{moment.isoformat()}'::timestamptz"))
        )

    def advance(self, **units: float) -> None:
        """`clock.advance(minutes=1)`"""
        self.set(self.now + timedelta(**units))
