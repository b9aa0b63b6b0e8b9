"""Several calls in one round trip, each a transaction of its own."""

from typing import Any

import psycopg
import pytest

from state import NewTask, get_task, submit
from state.database import Call, Connection
from state.tasks.ids import new_task_id
from tests.support.observer import Observer
from tests.support.roundtrips import count_round_trips

ALIVE: Call = ("alive", {})
BROKEN: Call = ("settle", {"worker": "w1", "outcomes": "no json", "wait": True})


def submission(task_id: str | None = None) -> Call:
    return "submit_one", {**NewTask("quick", {}).to_row(), "payload": "{}", "id": task_id or new_task_id()}


@pytest.fixture(params=[True, False], ids=["prepared", "unprepared"])
def either(request: pytest.FixtureRequest, worker_connection: Connection) -> Connection:
    worker_connection.keeps_prepared = request.param
    return worker_connection


def test_each_call_gets_its_own_rows(either: Connection) -> None:
    ids = [submit("quick", {"n": n}).task_id for n in range(20)]
    answers = either.fetch_each([("task", {"id": task_id, "scope": None}) for task_id in ids])
    assert [[row["id"] for row in rows] for rows in answers] == [[task_id] for task_id in ids]
    assert either.fetch_each([]) == []


def test_all_calls_are_one_round_trip(worker_connection: Connection) -> None:
    worker_connection.fetch_each([ALIVE, submission()])  # prepares
    assert count_round_trips(worker_connection, lambda: worker_connection.fetch_each([ALIVE, submission(), ALIVE])) == 1
    assert count_round_trips(worker_connection, lambda: worker_connection.fetch(*submission(), then=ALIVE)) == 1


def test_a_failed_call_stops_none_of_the_others_and_its_error_is_raised(either: Connection) -> None:
    before, after = new_task_id(), new_task_id()
    for _ in range(2):  # the second time all is prepared
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
            either.fetch_each(
                [submission(before), BROKEN, submission(after), ("notify", {"channel": "", "payload": ""})]
            )
        assert [get_task(task_id).status for task_id in (before, after)] == ["queued", "queued"]
        assert len(either.fetch_each([ALIVE, ALIVE])) == 2
        before, after = new_task_id(), new_task_id()


def test_a_call_that_cannot_be_sent_stops_none_of_the_others(either: Connection) -> None:
    task_id = new_task_id()
    with pytest.raises(UnicodeEncodeError):
        either.fetch_each(
            [ALIVE, ("settle", {"worker": "w1", "outcomes": "\ud800", "wait": True}), submission(task_id), BROKEN]
        )
    assert get_task(task_id).status == "queued"


def test_of_several_errors_the_first_is_raised(either: Connection) -> None:
    same = new_task_id()
    with pytest.raises(psycopg.errors.UniqueViolation):
        either.fetch_each([submission(same), submission(same), BROKEN])
    assert get_task(same).status == "queued"


def test_more_calls_than_fit_into_the_buffers_of_a_socket(worker_connection: Connection) -> None:
    """Both sides write at once; neither may wait for the other to read first."""
    payload = {"text": "x" * 100_000}
    ids = [submit("quick", payload).task_id for _ in range(100)]
    answers = worker_connection.fetch_each([("task", {"id": task_id, "scope": None}) for task_id in ids])
    assert [rows[0]["id"] for rows in answers] == ids


def test_a_lost_connection_is_closed_and_raises_an_error(either: Connection, connection: Observer) -> None:
    either.fetch_each([ALIVE, ALIVE])
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [either.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        either.fetch_each([ALIVE, ALIVE])
    assert either.closed


def test_an_interrupted_wait_closes_the_connection(
    worker_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown which results are still to come."""
    worker_connection.fetch_each([ALIVE])
    heard, count = worker_connection.wait, 0

    def interrupted(answers: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise InterruptedError
        return heard(answers, **options)

    monkeypatch.setattr(worker_connection, "wait", interrupted)
    with pytest.raises(InterruptedError):
        worker_connection.fetch_each([ALIVE, ALIVE])
    assert worker_connection.closed
