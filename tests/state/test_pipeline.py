"""Several calls in one round trip, each a transaction of its own."""

import psycopg
import pytest

from state import NewTask, get_task, submit
from state.database.connection import Call, Connection
from state.tasks.ids import new_task_id
from tests.support.roundtrips import count_round_trips

ALIVE: Call = ("alive", {})
BROKEN: Call = ("settle", {"worker": "w1", "outcomes": "no json", "wait": True})


def submission(task_id: str | None = None) -> Call:
    return "submit_one", {**NewTask("quick", {}).row(), "payload": "{}", "id": task_id or new_task_id()}


@pytest.fixture(params=[True, False], ids=["prepared", "unprepared"])
def either(request: pytest.FixtureRequest, desk: Connection) -> Connection:
    desk.keeps_prepared = request.param
    return desk


def test_each_call_gets_its_own_rows(either: Connection) -> None:
    ids = [submit("quick", {"n": n}).task_id for n in range(20)]
    answers = either.pipeline([("task", {"id": task_id, "tenant": None}) for task_id in ids])
    assert [[row["id"] for row in rows] for rows in answers] == [[task_id] for task_id in ids]
    assert either.pipeline([]) == []


def test_all_calls_are_one_round_trip(desk: Connection) -> None:
    desk.pipeline([ALIVE, submission()])  # prepares
    assert count_round_trips(desk, lambda: desk.pipeline([ALIVE, submission(), ALIVE])) == 1
    assert count_round_trips(desk, lambda: desk.fetch(*submission(), then=ALIVE)) == 1


def test_a_failed_call_stops_none_of_the_others_and_its_error_is_raised(either: Connection) -> None:
    before, after = new_task_id(), new_task_id()
    for _ in range(2):  # the second time all is prepared
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="json"):
            either.pipeline([submission(before), BROKEN, submission(after), ("notify", {"channel": "", "payload": ""})])
        assert [get_task(task_id).status for task_id in (before, after)] == ["queued", "queued"]
        assert len(either.pipeline([ALIVE, ALIVE])) == 2
        before, after = new_task_id(), new_task_id()


def test_a_call_that_cannot_be_sent_stops_none_of_the_others(either: Connection) -> None:
    task_id = new_task_id()
    with pytest.raises(UnicodeEncodeError):
        either.pipeline(
            [ALIVE, ("settle", {"worker": "w1", "outcomes": "\ud800", "wait": True}), submission(task_id), BROKEN]
        )
    assert get_task(task_id).status == "queued"


def test_of_several_errors_the_first_is_raised(either: Connection) -> None:
    same = new_task_id()
    with pytest.raises(psycopg.errors.UniqueViolation):
        either.pipeline([submission(same), submission(same), BROKEN])
    assert get_task(same).status == "queued"


def test_more_calls_than_fit_into_the_buffers_of_a_socket(desk: Connection) -> None:
    """Both sides write at once; neither may wait for the other to read first."""
    payload = {"text": "x" * 100_000}
    ids = [submit("quick", payload).task_id for _ in range(100)]
    answers = desk.pipeline([("task", {"id": task_id, "tenant": None}) for task_id in ids])
    assert [rows[0]["id"] for rows in answers] == ids


def test_a_lost_connection_is_closed_and_said(either: Connection, connection: psycopg.Connection) -> None:
    either.pipeline([ALIVE, ALIVE])
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [either.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        either.pipeline([ALIVE, ALIVE])
    assert either.closed


def test_an_interrupted_wait_closes_the_connection(desk: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what is still on its way."""
    desk.pipeline([ALIVE])
    heard, count = desk.wait, 0

    def interrupted(answers):
        nonlocal count
        count += 1
        if count == 3:
            raise InterruptedError
        return heard(answers)

    monkeypatch.setattr(desk, "wait", interrupted)
    with pytest.raises(InterruptedError):
        desk.pipeline([ALIVE, ALIVE])
    assert desk.closed


def test_psycopgs_own_pipeline_still_works(desk: Connection, connection: psycopg.Connection) -> None:
    """executemany is made of it."""
    connection.execute("CREATE TABLE rows (n integer)")
    with desk.cursor() as cursor:
        cursor.executemany("INSERT INTO rows VALUES (%s)", [[n] for n in range(3)])
    assert connection.execute("SELECT count(*) FROM rows").fetchone() == {"count": 3}
