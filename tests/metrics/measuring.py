"""What tests of the measurement share."""

from psycopg import sql

from state.metrics.measurement import Measurement
from tests.support.observer import Observer


def count_rows(connection: Observer, table: str, actor: str = "quick") -> int:
    query = sql.SQL("SELECT count(*) AS n FROM callboard.{} WHERE actor = {}")
    [row] = connection.execute(query.format(sql.Identifier(table), actor)).fetchall()
    return int(row["n"])


def work_off(maintainer: Measurement) -> None:
    while maintainer.take_turn():
        pass
