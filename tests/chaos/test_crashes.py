"""Whatever dies, nothing is lost and nothing is done by two."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from state import NewTask, get_attempts, get_events, get_task, submit, submit_many
from state.workers.identity import Identity
from state.workers.registry import find_dead_siblings
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.support.workers import WITHOUT_TIMER, WorkerTree

Start = Callable[..., WorkerTree]
SHORT_LEASE = {"lease_seconds": 3, "pulse_seconds": 0.5}


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def completions(connection: Observer) -> dict[str, int]:
    rows = connection.execute(
        "SELECT task_id, count(*) AS n FROM callboard.events "
        "WHERE kind = 'status' AND data ->> 'to' = 'completed' GROUP BY task_id"
    ).fetchall()
    return {row["task_id"]: row["n"] for row in rows}


def test_kill_of_the_whole_worker_tree(worker: Start, tmp_path: Path, connection: Observer) -> None:
    out = tmp_path / "out.txt"
    ids = submit_many([NewTask("steps", {"seconds": 1.5, "file": str(out)}) for _ in range(8)])
    tree = worker(processes=2, threads=4)
    eventually(lambda: len(lines(out)) == 8)
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    begun = time.monotonic()
    worker(processes=2, threads=4)
    eventually(lambda: all(get_task(each).status == "completed" for each in ids), timeout=60)
    assert time.monotonic() - begun < 25  # the dead processes were of this machine: no need to wait for their leases
    assert completions(connection) == dict.fromkeys(ids, 1)
    for each in ids:
        assert [(a["outcome"], (a["error"] or {}).get("type")) for a in get_attempts(each)] == [
            ("lost", "WorkerLost"),
            ("completed", None),
        ]
        assert get_task(each).lane == "retry"


def test_workers_of_another_machine_are_given_up_when_their_lease_ends(
    worker: Start, tmp_path: Path, connection: Observer
) -> None:
    out = tmp_path / "out.txt"
    task_id = submit("steps", {"seconds": 1, "file": str(out)}).task_id
    tree = worker(**SHORT_LEASE)
    eventually(lambda: len(lines(out)) == 1)
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    connection.execute("UPDATE callboard.workers SET host = 'elsewhere'")
    begun = time.monotonic()
    worker(**SHORT_LEASE)
    assert get_task(task_id).status == "running"
    assert eventually(lambda: (task := get_task(task_id)).status == "completed" and task).epoch == 2
    assert time.monotonic() - begun > 3
    [stopped] = connection.execute("SELECT stopped_at FROM callboard.workers WHERE host = 'elsewhere'").fetchall()
    assert stopped["stopped_at"] is not None  # it is not listed for ever


def test_a_task_that_kills_its_worker_ends_dead(worker: Start, tmp_path: Path) -> None:
    task_id = submit("kill_worker", {}).task_id
    for attempt in (1, 2):
        tree = worker(threads=2)
        tree.wait()
        assert get_task(task_id).attempt == attempt
    worker()
    dead = eventually(lambda: (task := get_task(task_id)).status == "dead" and task)
    assert dead.error is not None
    assert (dead.error["type"], dead.error["message"]) == ("WorkerLost", "Exceeded max retries after worker failures")
    assert len(dead.error_history) == 2


def test_a_stopped_worker_that_wakes_up_writes_nothing(worker: Start, tmp_path: Path, connection: Observer) -> None:
    out = tmp_path / "out.txt"
    task_id = submit("zombie", {"file": str(out)}).task_id
    tree = worker(threads=1, actors=WITHOUT_TIMER, **SHORT_LEASE)
    eventually(lambda: lines(out) == ["start 1"])
    tree.signal_all(signal.SIGSTOP)
    try:
        worker(threads=1, **SHORT_LEASE)
        task = eventually(lambda: (task := get_task(task_id)).status == "completed" and task)
        assert (task.result, task.epoch) == ("epoch 2", 2)
        history = get_events(task_id)
        (tmp_path / "out.txt.go").touch()
    finally:
        tree.signal_all(signal.SIGCONT)
    eventually(lambda: '"lease lost"' in tree.log.read_text())
    tree.terminate()
    tree.wait()
    after = get_task(task_id)
    assert get_events(task_id) == history
    assert (after.result, after.usage["tokens"], after.progress["message"]) == ("epoch 2", 0, "Completed")
    assert connection.execute("SELECT checkpoint FROM callboard.tasks").fetchall() == [{"checkpoint": {}}]
    assert len(get_attempts(task_id)) == 2


def test_postgres_restarts_under_load(worker: Start, tmp_path: Path, postgres: TestPostgres, database_url: str) -> None:
    out = tmp_path / "out.txt"
    ids = submit_many([NewTask("steps", {"seconds": 0.3, "file": str(out)}) for _ in range(60)])
    worker(processes=2, threads=4)
    eventually(lambda: len(lines(out)) > 10)
    postgres.restart("immediate")
    ids.append(submit("steps", {"seconds": 0.1, "file": str(out)}).task_id)  # our own pool has to notice, too
    eventually(lambda: all(get_task(each).status == "completed" for each in ids), timeout=90)
    with Observer.open(database_url) as connection:
        assert completions(connection) == dict.fromkeys(ids, 1)
    ends = [line.split()[1] for line in lines(out) if line.startswith("end")]
    assert set(ends) == set(ids)


def test_a_sibling_is_dead_only_when_it_is(worker: Start) -> None:
    me = Identity.of_this_process()
    tree = worker(processes=2)
    assert find_dead_siblings(me) == []
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    eventually(lambda: len(find_dead_siblings(me)) == 2)
