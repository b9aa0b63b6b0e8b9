"""`ctx.transaction()` commits the writes of an actor with its end; `ctx.save()` is durable."""

import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import actors  # noqa: F401  (sets the broker)
import state
from broker.execution.storable import ResultNotJson
from broker.testing import run_actor
from state import get_attempts, get_events, get_task, submit
from state.database import get_database
from tests.support.clock import Clock
from tests.support.controlactors import transacts  # which declares all that the tests submit to
from tests.support.eventually import eventually
from tests.support.following import wait_for_line, wait_for_status, wait_until_finished
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.support.workers import WITHOUT_TIMER, WorkerTree

Start = Callable[..., WorkerTree]


@pytest.fixture
def own_rows(connection: Observer) -> Callable[[], list[tuple[str, int]]]:
    """A table of the user."""
    connection.execute("CREATE TABLE own_rows (task_id text, epoch integer)")

    def rows() -> list[tuple[str, int]]:
        found = connection.execute("SELECT task_id, epoch FROM own_rows ORDER BY 1, 2").fetchall()
        return [(row["task_id"], row["epoch"]) for row in found]

    return rows


OwnRows = Callable[[], list[tuple[str, int]]]


@pytest.mark.parametrize("text", ["", "late"])
def test_writes_and_completion_commit_together(
    worker: Start, own_rows: OwnRows, connection: Observer, text: str
) -> None:
    tree = worker()
    task_id = submit("transacts", {"text": text}).task_id
    task = wait_until_finished(task_id)
    assert (task.status, task.result, task.attempt) == ("completed", {"rows": 1}, 1)
    assert own_rows() == [(task_id, 1)]
    assert [a["outcome"] for a in get_attempts(task_id)] == ["completed"]
    assert connection.execute("SELECT count(*) AS n FROM callboard.leases").fetchone() == {"n": 0}
    events = get_events(task_id)
    assert [(e.kind, e.data.get("to")) for e in events[-2:]] == [("token", None), ("status", "completed")]
    # The row and the end have the same transaction; the history has no more lines after a while.
    same = connection.execute(
        "SELECT count(*) AS n FROM callboard.tasks t JOIN own_rows o ON o.task_id = t.id AND o.xmin = t.xmin"
    ).fetchone()
    assert same == {"n": 1}
    again = submit("note", {"value": 1}).task_id
    assert wait_until_finished(again).status == "completed"
    assert get_events(task_id) == events
    assert ("raised after its end" in tree.log.read_text()) == (text == "late")


def test_a_failure_inside_leaves_nothing_behind(worker: Start, own_rows: OwnRows, clock: Clock) -> None:
    worker()
    task_id = submit("transacts", {"text": "fail"}).task_id
    wait_for_status(task_id, "scheduled")
    assert own_rows() == []
    clock.advance(10)
    assert wait_until_finished(task_id).status == "completed"
    assert own_rows() == [(task_id, 2)]


def test_a_result_that_is_not_json_leaves_nothing_behind(worker: Start, own_rows: OwnRows) -> None:
    worker()
    task = wait_until_finished(submit("transacts", {"text": "odd"}).task_id)
    assert (task.status, (task.error or {})["type"]) == ("dead", "ResultNotJson")
    assert own_rows() == []


def test_a_completion_that_fails_does_not_close_a_connection_of_the_pool(own_rows: OwnRows) -> None:
    with pytest.raises(ResultNotJson):
        run_actor(transacts, {"text": "odd"})
    connection = get_database().take()
    try:
        assert not connection.closed
    finally:
        get_database().give_back(connection)


def test_kill_9_inside_leaves_nothing_behind(worker: Start, own_rows: OwnRows) -> None:
    task_id = submit("transacts", {"text": "kill"}).task_id
    worker(threads=1).wait()
    assert own_rows() == []
    worker(threads=1)
    task = wait_until_finished(task_id)
    assert (task.status, task.epoch, own_rows()) == ("completed", 2, [(task_id, 2)])
    assert [a["outcome"] for a in get_attempts(task_id)] == ["lost", "completed"]


def test_a_process_that_lost_its_lease_inside_writes_nothing(worker: Start, own_rows: OwnRows, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    task_id = submit("transacts", {"text": "wait", "file": str(out)}).task_id
    short_lease = {"lease_seconds": 3, "pulse_seconds": 0.5}
    tree = worker(threads=1, actors=WITHOUT_TIMER, **short_lease)
    wait_for_line(out, "start 1")
    tree.signal_all(signal.SIGSTOP)
    try:
        worker(threads=1, **short_lease)
        assert wait_until_finished(task_id).epoch == 2
        history = get_events(task_id)
        (tmp_path / "out.txt.go").touch()
    finally:
        tree.signal_all(signal.SIGCONT)
    eventually(lambda: '"lease lost"' in tree.log.read_text())
    tree.terminate()
    tree.wait()
    assert own_rows() == [(task_id, 2)]
    assert get_events(task_id) == history


def test_a_lease_lost_inside_is_noticed_at_the_end(
    worker: Start, own_rows: OwnRows, tmp_path: Path, connection: Observer
) -> None:
    """Only the fence of the settlement can notice it: the worker does not know."""
    out = tmp_path / "out.txt"
    worker(threads=1, lease_seconds=3000, pulse_seconds=900)
    pulsed = "SELECT seen_at > started_at AS pulsed FROM callboard.workers"
    eventually(lambda: connection.execute(pulsed).fetchone() == {"pulsed": True})  # the first; the next is far
    task_id = submit("transacts", {"text": "wait", "file": str(out)}).task_id
    wait_for_line(out, "start 1")
    with connection.transaction():
        connection.execute("UPDATE callboard.tasks SET epoch = 7 WHERE id = %s", [task_id])
        connection.execute("UPDATE callboard.leases SET epoch = 7, worker_id = 'another'")
    (tmp_path / "out.txt.go").touch()
    eventually(lambda: nothing_left_open(connection), what="the worker gave up")
    assert own_rows() == []
    assert get_task(task_id).status == "running"


def nothing_left_open(connection: Observer) -> bool:
    left_open = connection.execute(
        "SELECT count(*) AS n FROM pg_stat_activity "
        "WHERE state = 'idle in transaction' AND application_name = 'callboard'"
    ).fetchone()
    return left_open == {"n": 0}


@pytest.mark.parametrize(("verb", "after"), [("cancel", "canceled"), ("pause", "paused")])
def test_stopped_inside_leaves_nothing_behind(
    worker: Start, own_rows: OwnRows, tmp_path: Path, connection: Observer, verb: str, after: str
) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = submit("transacts", {"text": "spin", "file": str(out)}).task_id
    wait_for_line(out, "start")
    getattr(state, verb)(task_id)
    wait_for_status(task_id, after)
    assert own_rows() == []
    eventually(lambda: nothing_left_open(connection))


def test_code_that_runs_on_after_its_transaction_is_left_alone(
    worker: Start, own_rows: OwnRows, tmp_path: Path
) -> None:
    tree = worker(threads=1, pulse_seconds=0.2)
    task_id = submit("transacts", {"text": "lazy", "seconds": 1.5}).task_id
    assert wait_until_finished(task_id).status == "completed"
    behind = submit("note", {"value": 1}).task_id
    assert wait_until_finished(behind).status == "completed"
    assert '"lease lost"' not in tree.log.read_text()
    assert "orphan" not in tree.log.read_text()


def test_postgres_dies_inside(
    worker: Start, own_rows: OwnRows, postgres: TestPostgres, tmp_path: Path, database_url: str
) -> None:
    worker(threads=1)
    out = tmp_path / "out.txt"
    task_id = submit("transacts", {"text": "wait", "file": str(out)}).task_id
    wait_for_line(out, "start 1")
    postgres.restart("immediate")
    (tmp_path / "out.txt.go").touch()
    task = wait_until_finished(task_id, timeout=60)
    assert (task.status, task.result) == ("completed", {"rows": 1})
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM own_rows").fetchone() == (1,)


def test_a_saved_checkpoint_survives_kill_9(worker: Start) -> None:
    task_id = submit("saves_then_dies", {"value": 2}, max_attempts=5).task_id
    for _ in range(2):
        worker(threads=1).wait()
    worker(threads=1)
    task = wait_until_finished(task_id)
    assert (task.status, task.result, task.attempt) == ("completed", 2, 3)
