"""The short way to Postgres: the same answers and the same errors as psycopg's own."""

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.adapt import Transformer

from state import get_task, submit
from state.connection import Connection, _text
from state.database import get_database
from tests.support.postgres import TestPostgres

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


@given(st.lists(TEXTS), TEXTS, st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**62), 2**62))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parameters_arrive_as_they_are(
    connection: psycopg.Connection, texts: list[str], text: str, number: float, count: int
) -> None:
    query = b"SELECT $1::text[], $2::text, $3::double precision, $4::bigint, $5::text"
    values = [_text(value) for value in (texts, text, number, count, None)]
    result = connection.pgconn.exec_params(query, values)
    loader = Transformer(connection)
    loader.set_pgresult(result)
    assert loader.load_row(0, tuple) == (texts, text, number, count, None)


@pytest.mark.parametrize("keeps_prepared", [True, False])
def test_with_and_without_prepared_statements(desk: Connection, keeps_prepared: bool) -> None:
    desk.keeps_prepared = keeps_prepared
    ids = [submit("quick", {"x": 'a "b" \\ ü'}).task_id for _ in range(2)]
    parameters = {
        "worker": "w1", "claim_number": 1, "queues": ["one", "two"], "free": 5, "ahead": 0, "short_actors": [],
        "retry_share": 0.3, "lease_seconds": 30.0, "freed_gates": [],
    }  # fmt: skip
    rows = desk.fetch("claim", parameters)
    assert [(row["id"], row["epoch"], row["payload"], row["tenant"]) for row in rows] == [
        (task_id, 1, {"x": 'a "b" \\ ü'}, None) for task_id in ids
    ]
    assert desk.fetch("claim", parameters) == []


def test_errors_are_those_of_psycopg_and_the_connection_lives_on(desk: Connection) -> None:
    for _ in range(2):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
            desk.fetch("settle", {"outcomes": "no json"})
    assert desk.fetch("settle", {"outcomes": "[]"}) == []
    with pytest.raises(psycopg.errors.InvalidTextRepresentation), desk.transaction():
        desk.fetch("settle", {"outcomes": "no json"})
    assert desk.fetch("settle", {"outcomes": "[]"}) == []


def test_a_lost_connection_says_so(desk: Connection, connection: psycopg.Connection) -> None:
    assert desk.fetch("settle", {"outcomes": "[]"}) == []
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [desk.info.backend_pid])
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            desk.fetch("settle", {"outcomes": "[]"})
    assert desk.closed


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_after_a_restart_it_is_closed_at_the_first_error(desk: Connection, postgres: TestPostgres, mode: str) -> None:
    assert desk.fetch("settle", {"outcomes": "[]"}) == []
    postgres.restart(mode)
    with pytest.raises(psycopg.OperationalError):
        desk.fetch("settle", {"outcomes": "[]"})
    assert desk.closed


def test_a_submit_survives_the_loss_of_all_connections(connection: psycopg.Connection) -> None:
    first = submit("quick", {})
    with get_database().pool().connection() as held:
        pid = held.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    second = submit("quick", {})
    assert [get_task(task.task_id).status for task in (first, second)] == ["queued", "queued"]
