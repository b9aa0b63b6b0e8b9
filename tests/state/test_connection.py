"""The short way to Postgres: the same answers and the same errors as psycopg's own."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.adapt import Transformer

from state import NewTask, get_task, submit
from state.database.connection import Connection, Parameters, _text
from state.database.pool import close_database, pooled
from state.tasks.ids import new_task_id
from tests.support.eventually import eventually
from tests.support.postgres import TestPostgres

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


@given(
    st.lists(st.none() | TEXTS),
    st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)),
    TEXTS,
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**62), 2**62),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parameters_arrive_as_they_are(
    connection: psycopg.Connection,
    texts: list[str | None],
    numbers: list[int | None],
    text: str,
    number: float,
    count: int,
) -> None:
    query = b"SELECT $1::text[], $2::integer[], $3::text, $4::double precision, $5::bigint"
    values = [_text(value) for value in (texts, numbers, text, number, count)]
    result = connection.pgconn.exec_params(query, values)
    loader = Transformer(connection)
    loader.set_pgresult(result)
    assert loader.load_row(0, tuple) == (texts, numbers, text, number, count)


@pytest.mark.parametrize("keeps_prepared", [True, False])
def test_with_and_without_prepared_statements(desk: Connection, keeps_prepared: bool) -> None:
    desk.keeps_prepared = keeps_prepared
    ids = [submit("quick", {"x": 'a "b" \\ ü'}).task_id for _ in range(2)]
    parameters = {
        "worker": "w1", "claim_number": 1, "thread_queues": ["one", "two"], "coroutine_queues": [],
        "threads": 5, "coroutines": 0, "ahead": 0, "short_actors": [], "known_actors": None,
        "retry_share": 0.3, "lease_seconds": 30.0,
    }  # fmt: skip
    rows = desk.fetch("claim", parameters)
    assert [(row["id"], row["epoch"], row["payload"], row["tenant"]) for row in rows] == [
        (task_id, 1, {"x": 'a "b" \\ ü'}, None) for task_id in ids
    ]
    assert desk.fetch("claim", parameters) == []


def test_errors_are_those_of_psycopg_and_the_connection_lives_on(desk: Connection) -> None:
    for _ in range(2):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
            desk.fetch("settle", {"worker": "w1", "outcomes": "no json", "wait": True})
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    with pytest.raises(psycopg.errors.InvalidTextRepresentation), desk.transaction():
        desk.fetch("settle", {"worker": "w1", "outcomes": "no json", "wait": True})
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []


def test_what_goes_along_is_a_transaction_of_its_own(desk: Connection, connection: psycopg.Connection) -> None:
    """Whatever becomes of one, the other is done, and the connection can be used again."""
    task = {**NewTask("quick", {}).row(), "payload": "{}"}
    for keeps_prepared in (True, False):
        desk.keeps_prepared = keeps_prepared
        parameters = {**task, "id": new_task_id()}
        desk.fetch("submit_one", parameters, then=("notify", {"channel": "", "payload": "refused"}))
        assert get_task(parameters["id"]).status == "queued"
    desk.keeps_prepared = True
    connection.execute("LISTEN news")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
        desk.fetch(
            "settle",
            {"worker": "w1", "outcomes": "no json", "wait": True},
            then=("notify", {"channel": "news", "payload": "all the same"}),
        )
    assert [each.payload for each in connection.notifies(timeout=5, stop_after=1)] == ["all the same"]
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [desk.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        desk.fetch(
            "settle",
            {"worker": "w1", "outcomes": "[]", "wait": True},
            then=("notify", {"channel": "news", "payload": "lost"}),
        )
    assert desk.closed


def test_an_interrupted_wait_leaves_no_connection_in_doubt(
    desk: Connection, connection: psycopg.Connection, database_url: str
) -> None:
    """Ctrl-C strikes while Postgres works: what comes next must not read another's answer."""
    stuck = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"

    def interrupt() -> None:
        with psycopg.connect(database_url, autocommit=True) as onlooker:
            eventually(lambda: onlooker.execute(stuck, [desk.info.backend_pid]).rowcount)
        signal.raise_signal(signal.SIGINT)

    submit("quick", {})
    with connection.transaction():
        connection.execute("LOCK TABLE callboard.tasks")
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            desk.fetch("submit_one", {**NewTask("quick", {}).row(), "payload": "{}"})
        interrupting.join()
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []


@pytest.mark.parametrize("then", [None, ("notify", {"channel": "news", "payload": "x"})], ids=["alone", "with another"])
def test_who_is_interrupted_before_the_answer_leaves_it_to_nobody(
    monkeypatch: pytest.MonkeyPatch, then: tuple[str, Parameters] | None
) -> None:
    """A task's code may be stopped anywhere, and it may be submitting."""
    parameters = {**NewTask("quick", {}).row(), "payload": "{}", "gates": None, "gate_limits": None}

    def interrupted(answers: Any) -> Any:
        raise InterruptedError

    with pooled() as own:
        own.fetch("submit_one", parameters, then=then)
    with pytest.raises(InterruptedError), pooled() as own, monkeypatch.context() as patched:  # noqa: PT012
        patched.setattr(own, "wait", interrupted)
        own.fetch("submit_one", {**parameters, "id": new_task_id()}, then=then)
    assert own.closed
    assert get_task(submit("quick", {}).task_id).status == "queued"


def test_who_is_interrupted_while_preparing_spoils_it_for_nobody(
    desk: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = desk.wait

    def interrupted(answers: Any) -> Any:
        heard(answers)
        raise InterruptedError

    monkeypatch.setattr(desk, "wait", interrupted)
    with pytest.raises(InterruptedError):
        desk.fetch(
            "settle", {"worker": "w1", "outcomes": "[]", "wait": True}
        )  # Postgres has prepared it, and we do not know
    monkeypatch.undo()
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []


def test_a_lost_connection_says_so(desk: Connection, connection: psycopg.Connection) -> None:
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [desk.info.backend_pid])
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True})
    assert desk.closed


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_after_a_restart_it_is_closed_at_the_first_error(desk: Connection, postgres: TestPostgres, mode: str) -> None:
    assert desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    postgres.restart(mode)
    with pytest.raises(psycopg.OperationalError):
        desk.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True})
    assert desk.closed


def test_what_was_used_last_is_used_next(database_url: str) -> None:
    """Its plans and pages are at hand. A busy moment must not send everybody round all that it has opened."""
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: submit("quick", {}), range(20)))
    used = set()
    for _ in range(5):
        with pooled() as taken:
            used.add(taken.info.backend_pid)
    assert len(used) == 1


def test_a_warm_connection_does_not_outlive_its_database(database_url: str) -> None:
    with pooled() as kept:
        pass
    with pooled() as taken:
        assert taken is kept
        close_database()
    assert taken.closed
    with pooled() as fresh:
        assert fresh is not taken


def test_a_submit_survives_the_loss_of_all_connections(connection: psycopg.Connection) -> None:
    first = submit("quick", {})
    with pooled() as held:
        pid = held.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    second = submit("quick", {})
    assert [get_task(task.task_id).status for task in (first, second)] == ["queued", "queued"]
