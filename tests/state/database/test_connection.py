"""Our own connection: the same rows and the same errors as psycopg's, with and without prepared statements."""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from state import NewTask, get_task, submit
from state.database import Call, Connection, Parameters, close_database
from state.database.pool import borrow
from state.tasks.ids import new_task_id
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres


@pytest.mark.parametrize("keeps_prepared", [True, False])
def test_with_and_without_prepared_statements(worker_connection: Connection, keeps_prepared: bool) -> None:
    worker_connection.keeps_prepared = keeps_prepared
    ids = [submit("quick", {"x": 'a "b" \\ ü'}).task_id for _ in range(2)]
    parameters: Parameters = {
        "worker": "w1", "claim_number": 1, "thread_queues": ["one", "two"], "coroutine_queues": [],
        "threads": 5, "coroutines": 0, "ahead": 0, "short_actors": [], "known_actors": None, "sync_actors": [],
        "async_actors": [], "retry_share": 0.3, "lease_seconds": 30.0,
    }  # fmt: skip
    rows = worker_connection.fetch("claim", parameters)
    assert [(row["id"], row["epoch"], row["payload"], row["tenant"]) for row in rows] == [
        (task_id, 1, {"x": 'a "b" \\ ü'}, None) for task_id in ids
    ]
    assert worker_connection.fetch("claim", parameters) == []


def test_errors_are_those_of_psycopg_and_the_connection_stays_usable(worker_connection: Connection) -> None:
    for _ in range(2):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
            worker_connection.fetch("settle", {"worker": "w1", "outcomes": "no json", "wait": True})
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    with pytest.raises(psycopg.errors.InvalidTextRepresentation), worker_connection.transaction():
        worker_connection.fetch("settle", {"worker": "w1", "outcomes": "no json", "wait": True})
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []


def test_a_rollback_leaves_what_is_prepared(database_url: str) -> None:
    """psycopg drops all prepared statements of the connection after a rollback, if it has prepared one itself."""
    with borrow() as used:
        for _ in range(10):
            used.execute("SELECT 1")
        used.fetch("moment_before", {"seconds": 0})
        with used.transaction(force_rollback=True):
            used.fetch("moment_before", {"seconds": 0})
        assert len(used.fetch("moment_before", {"seconds": 0})) == 1


def test_the_second_statement_of_a_round_trip_is_a_transaction_of_its_own(
    worker_connection: Connection, connection: Observer
) -> None:
    """If one of them fails, the other is done all the same, and the connection can be used again."""
    task = {**NewTask("quick", {}).to_row(), "payload": "{}"}
    for keeps_prepared in (True, False):
        worker_connection.keeps_prepared = keeps_prepared
        parameters = {**task, "id": new_task_id()}
        worker_connection.fetch("submit_one", parameters, then=("notify", {"channel": "", "payload": "refused"}))
        assert get_task(parameters["id"]).status == "queued"
    worker_connection.keeps_prepared = True
    connection.execute("LISTEN news")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
        worker_connection.fetch(
            "settle",
            {"worker": "w1", "outcomes": "no json", "wait": True},
            then=("notify", {"channel": "news", "payload": "all the same"}),
        )
    assert [each.payload for each in connection.notifies(timeout=5, stop_after=1)] == ["all the same"]
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [worker_connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        worker_connection.fetch(
            "settle",
            {"worker": "w1", "outcomes": "[]", "wait": True},
            then=("notify", {"channel": "news", "payload": "lost"}),
        )
    assert worker_connection.closed


FAIL_AT_COMMIT = """
CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {action}; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON callboard.tasks DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION fail_at_commit();
"""


NOTIFY: Call = ("notify", {"channel": "news", "payload": "x"})


@pytest.mark.parametrize("keeps_prepared", [True, False], ids=["prepared", "unprepared"])
@pytest.mark.parametrize("how", ["alone", "with another", "in a row"])
@pytest.mark.parametrize("action", ["RAISE EXCEPTION 'late'", "PERFORM pg_terminate_backend(pg_backend_pid())"])
def test_an_error_of_the_commit_is_raised(
    worker_connection: Connection, connection: Observer, action: str, how: str, keeps_prepared: bool
) -> None:
    """It comes after the rows of the statement: a caller that has got only the rows takes the task for accepted."""
    connection.execute(FAIL_AT_COMMIT.format(action=action))
    worker_connection.keeps_prepared = keeps_prepared
    call: Call = ("submit_one", {**NewTask("quick", {}).to_row(), "payload": "{}"})
    ways: dict[str, Callable[[], object]] = {
        "alone": lambda: worker_connection.fetch(*call),
        "with another": lambda: worker_connection.fetch(*call, then=NOTIFY),
        "in a row": lambda: worker_connection.fetch_each([NOTIFY, call, NOTIFY]),
    }
    with pytest.raises(psycopg.Error):
        ways[how]()
    assert connection.execute("SELECT FROM callboard.tasks").fetchall() == []
    assert worker_connection.closed or len(worker_connection.fetch("alive", {})) == 1


@pytest.mark.parametrize("keeps_prepared", [True, False], ids=["prepared", "unprepared"])
def test_a_transaction_on_a_lost_connection_does_not_end_as_if_it_had_committed(
    worker_connection: Connection, keeps_prepared: bool
) -> None:
    worker_connection.keeps_prepared = keeps_prepared
    with pytest.raises(psycopg.OperationalError), worker_connection.transaction():
        worker_connection.pgconn.finish()  # noticed by code that does not pass the error on


def test_an_interrupted_wait_leaves_no_connection_in_doubt(
    worker_connection: Connection, connection: Observer, database_url: str
) -> None:
    """After Ctrl-C in the middle of a statement, the next one gets its own answer, or the connection is closed."""
    backend = worker_connection.info.backend_pid
    in_state = "SELECT FROM pg_stat_activity WHERE pid = %s AND "
    # The statement waits until it is interrupted, however long that takes.
    worker_connection.execute("SET lock_timeout = 0")
    worker_connection.execute("SET statement_timeout = 0")

    def interrupt() -> None:
        with psycopg.connect(database_url, autocommit=True) as observer:
            eventually(lambda: observer.execute(in_state + "wait_event_type = 'Lock'", [backend]).rowcount, timeout=120)
        signal.raise_signal(signal.SIGINT)

    submit("quick", {})
    with connection.transaction():
        connection.execute("LOCK TABLE callboard.tasks")
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            worker_connection.fetch("submit_one", {**NewTask("quick", {}).to_row(), "payload": "{}"})
        interrupting.join()
    eventually(lambda: not connection.execute(in_state + "state = 'active'", [backend]).rowcount)
    # psycopg closes the connection if Postgres does not cancel the statement within five seconds.
    assert (
        worker_connection.closed
        or worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    )


@pytest.mark.parametrize("then", [None, ("notify", {"channel": "news", "payload": "x"})], ids=["alone", "with another"])
def test_an_interruption_before_the_answer_leaves_the_answer_to_no_other_caller(
    monkeypatch: pytest.MonkeyPatch, then: tuple[str, Parameters] | None
) -> None:
    """The code of a task may be stopped anywhere, also while it submits."""
    parameters = {**NewTask("quick", {}).to_row(), "payload": "{}", "gates": None, "gate_limits": None}

    def interrupted(answers: Any, **options: Any) -> Any:
        raise InterruptedError

    with borrow() as own:
        own.fetch("submit_one", parameters, then=then)
    with pytest.raises(InterruptedError), borrow() as own, monkeypatch.context() as patched:  # noqa: PT012
        patched.setattr(own, "wait", interrupted)
        own.fetch("submit_one", {**parameters, "id": new_task_id()}, then=then)
    assert own.closed
    assert get_task(submit("quick", {}).task_id).status == "queued"


def test_an_interruption_while_preparing_does_not_spoil_the_statement(
    worker_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = worker_connection.wait

    def interrupted(answers: Any, **options: Any) -> Any:
        heard(answers, **options)
        raise InterruptedError

    monkeypatch.setattr(worker_connection, "wait", interrupted)
    with pytest.raises(InterruptedError):
        worker_connection.fetch(
            "settle", {"worker": "w1", "outcomes": "[]", "wait": True}
        )  # Postgres has prepared it, and we do not know
    monkeypatch.undo()
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []


def test_a_lost_connection_is_closed(worker_connection: Connection, connection: Observer) -> None:
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [worker_connection.info.backend_pid])
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True})
    assert worker_connection.closed


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_after_a_restart_it_is_closed_at_the_first_error(
    worker_connection: Connection, postgres: TestPostgres, mode: str
) -> None:
    assert worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True}) == []
    postgres.restart(mode)
    with pytest.raises(psycopg.OperationalError):
        worker_connection.fetch("settle", {"worker": "w1", "outcomes": "[]", "wait": True})
    assert worker_connection.closed


def test_the_connection_that_was_used_last_is_used_next(database_url: str) -> None:
    """Postgres has its plans and pages at hand. After a busy moment the other connections stay unused."""
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: submit("quick", {}), range(20)))
    used = set()
    for _ in range(5):
        with borrow() as taken:
            used.add(taken.info.backend_pid)
    assert len(used) == 1


def test_a_warm_connection_does_not_outlive_its_database(database_url: str) -> None:
    with borrow() as kept:
        pass
    with borrow() as taken:
        assert taken is kept
        close_database()
    assert taken.closed
    with borrow() as fresh:
        assert fresh is not taken


def test_a_submit_survives_the_loss_of_all_connections(connection: Observer) -> None:
    first = submit("quick", {})
    with borrow() as held:
        pid = held.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    second = submit("quick", {})
    assert [get_task(task.task_id).status for task in (first, second)] == ["queued", "queued"]
