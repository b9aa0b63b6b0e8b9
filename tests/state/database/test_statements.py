"""Named statements and their parameters: the same rows on every kind of connection."""

from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.adapt import Transformer

from state import submit
from state.database import Parameters, connect, fetch
from state.database.parameters import encode
from state.database.statements import numbered, parameters_of
from tests.support.observer import Observer

STATEMENTS = sorted(
    path.stem
    for path in (Path(__file__).parents[3] / "state" / "sql").glob("*.sql")
    if not path.stem.startswith(("schema_", "session", "plain_session"))
)


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


@given(
    st.lists(st.none() | TEXTS),
    st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)),
    TEXTS,
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**62), 2**62),
    st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  (hypothesis adds the zone)
    st.booleans(),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parameters_arrive_as_they_are(
    connection: Observer,
    texts: list[str | None],
    numbers: list[int | None],
    text: str,
    number: float,
    count: int,
    moment: datetime,
    flag: bool,
) -> None:
    query = (
        b"SELECT $1::text[], $2::integer[], $3::text, $4::double precision, $5::bigint, $6::timestamptz, $7::boolean"
    )
    given = (texts, numbers, text, number, count, moment, flag)
    values = [encode(value) for value in given]
    result = connection.pgconn.exec_params(query, values)
    loader = Transformer(connection)
    loader.set_pgresult(result)
    assert loader.load_row(0, tuple) == given


def test_equal_numbers_of_other_types_keep_their_own_text() -> None:
    """An array of integers in Postgres takes no 1.0."""
    assert [encode(value) for value in ([1.0], [1], [True], [1])] == [b"{1.0}", b"{1}", b"{True}", b"{1}"]


@pytest.mark.parametrize("value", ["a\x00b", ["a\x00b"], ["a\x00b", *map(str, range(100))]])
def test_a_nul_character_is_refused(value: str | list[str]) -> None:
    """libpq would cut the text there, and another row would be found."""
    with pytest.raises(psycopg.DataError, match="NUL"):
        encode(value)


def test_every_statement_can_be_prepared_whichever_parameters_are_given(connection: Observer) -> None:
    for number, name in enumerate(STATEMENTS):
        count = len(parameters_of(name))
        for left_out in range(count + 1):
            given = [place != left_out for place in range(count)]
            prepared = connection.pgconn.prepare(f"{number} {left_out}".encode(), numbered(name, given))
            assert not prepared.error_message, (name, given, prepared.error_message)


def test_a_statement_gives_the_same_rows_on_every_kind_of_connection(database_url: str) -> None:
    task_id = submit("quick", {"x": 'a "b" \\ ü'}, tenant="acme").task_id
    asked: list[tuple[str, Parameters]] = [
        ("task", {"id": task_id, "scope": None}),
        ("tasks_of_many", {"ids": [task_id], "scope": None}),
        ("owned", {"id": task_id, "epoch": 0, "worker": "w1"}),  # has no columns
        ("gate_create", {"key": "tenant:acme"}),  # returns no rows
    ]
    with connect("prepares") as prepares, connect("does not") as unprepared, psycopg.connect(database_url) as foreign:
        unprepared.keeps_prepared = False
        for name, parameters in asked:
            rows = fetch(name, parameters)
            for own in (prepares, unprepared, foreign):
                assert fetch(name, parameters, own) == rows
