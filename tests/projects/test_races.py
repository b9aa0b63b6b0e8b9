"""Two at once on real locks: the second one waits for the first, and then sees what it has done."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import state
from state.database import Connection, connect, fetch
from state.errors import QueueAlreadyRunning
from state.projects.items import add_items
from state.projects.queue import start_run, stop
from state.projects.reads import list_items, list_runs
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject, Start, make_item
from tests.projects.looks import queue, statuses
from tests.projects.test_runs import begins, wait_until_stopped
from tests.support.eventually import eventually
from tests.support.following import wait_for_line, wait_until_finished
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres

FIRST = "tq_" + "0" * 32  # the run of the one who comes first
LOCK = "SELECT FROM callboard.projects WHERE id = %s FOR NO KEY UPDATE"


@contextmanager
def first_open(act: Callable[[Connection], Any], *, rolled_back: bool = False) -> Iterator[None]:
    """The transaction of the one who comes first; commits at the end of the block."""
    with connect("first") as connection, connection.transaction(force_rollback=rolled_back):
        act(connection)
        yield


def wait_until_blocked(connection: Observer) -> None:
    blocked = (
        "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    eventually(lambda: connection.fetch_one(blocked)["n"] == 1, what="the second one waits")


@pytest.fixture
def second(connection: Observer) -> Iterator[Callable[[Callable[[], Any]], "Future[Any]"]]:
    """Starts the one who comes second, in a thread, and returns when it waits for a lock."""
    with ThreadPoolExecutor(1) as threads:

        def begin(act: Callable[[], Any]) -> "Future[Any]":
            begun = threads.submit(act)
            wait_until_blocked(connection)
            return begun

        yield begin


Second = Callable[[Callable[[], Any]], "Future[Any]"]


def completion(claimed: Claimed) -> Settlement:
    return Settlement(claimed.id, claimed.epoch, "completed", result={"result": None})


def settle_completed(claimed: Claimed) -> Callable[[Connection], Any]:
    return lambda connection: leases.settle(connection, "w1", [completion(claimed)])


def start_loop(project_id: str) -> Callable[[Connection], Any]:
    asked = {"project_id": project_id, "id": FIRST, "mode": "loop", "item_id": None, "priority": None, "scope": None}
    return lambda connection: fetch("run_start", {**asked, "queue": "agents", "max_attempts": 3}, connection)


def begun_loop(make_project: MakeProject, by_hand: WorkerByHand, mode: str = "loop") -> tuple[str, Claimed]:
    project_id = make_project("a", "b")
    start_run(project_id, mode)  # type: ignore[arg-type]
    return project_id, by_hand.take()[0]


def test_stop_before_the_end_of_a_run(make_project: MakeProject, by_hand: WorkerByHand, second: Second) -> None:
    project_id, claimed = begun_loop(make_project, by_hand)
    asked = {"project_id": project_id, "scope": None, "by": None}
    with first_open(lambda conn: fetch("queue_stop", {**asked, "force": False}, conn)):
        ending = second(lambda: by_hand.complete(claimed))
    assert ending.result(30) == "completed"
    assert not queue(project_id).is_running
    assert (statuses(project_id), len(list_runs(project_id))) == (["completed", "pending"], 1)


def test_stop_after_the_end_of_a_run(make_project: MakeProject, by_hand: WorkerByHand, second: Second) -> None:
    project_id, claimed = begun_loop(make_project, by_hand)
    with first_open(settle_completed(claimed)):
        stopping = second(lambda: stop(project_id))
    assert not stopping.result(30).queue_state.is_running
    assert [run.outcome for run in list_runs(project_id)] == ["canceled", "completed"]  # the next one has not begun
    assert statuses(project_id) == ["completed", "pending"]
    assert by_hand.claim_none()


def test_start_after_the_end_of_a_run(make_project: MakeProject, by_hand: WorkerByHand, second: Second) -> None:
    project_id, claimed = begun_loop(make_project, by_hand, "single")
    with first_open(settle_completed(claimed)):
        starting = second(lambda: start_run(project_id, "single"))
    assert starting.result(30) == queue(project_id).current_run_id


def test_start_after_an_end_that_was_rolled_back(
    make_project: MakeProject, by_hand: WorkerByHand, second: Second
) -> None:
    project_id, claimed = begun_loop(make_project, by_hand, "single")
    with first_open(settle_completed(claimed), rolled_back=True):
        starting = second(lambda: start_run(project_id, "single"))
    with pytest.raises(QueueAlreadyRunning):
        starting.result(30)
    assert queue(project_id).current_run_id == claimed.id
    by_hand.complete(claimed)


@pytest.mark.parametrize("rolled_back", [False, True])
def test_a_second_start_waits_for_the_first(make_project: MakeProject, second: Second, rolled_back: bool) -> None:
    project_id = make_project("a")
    with first_open(start_loop(project_id), rolled_back=rolled_back):
        starting = second(lambda: start_run(project_id, "single"))
    if rolled_back:
        assert starting.result(30) == queue(project_id).current_run_id
    else:
        with pytest.raises(QueueAlreadyRunning) as refused:
            starting.result(30)
        assert refused.value.run_id == queue(project_id).current_run_id == FIRST


def test_start_before_the_end_of_a_run(make_project: MakeProject, by_hand: WorkerByHand, second: Second) -> None:
    """The start is refused, and the end follows as if nothing had been asked."""
    project_id, claimed = begun_loop(make_project, by_hand)
    with first_open(lambda conn: conn.execute(LOCK, [project_id])):  # as the start that is refused
        ending = second(lambda: by_hand.complete(claimed))
    assert ending.result(30) == "completed"
    with pytest.raises(QueueAlreadyRunning):
        start_run(project_id, "loop")
    assert len(list_runs(project_id)) == 2


def test_an_item_added_before_the_end_of_a_loop(
    make_project: MakeProject, by_hand: WorkerByHand, second: Second, connection: Observer
) -> None:
    project_id = make_project("a")
    start_run(project_id, "loop")
    claimed, _ = by_hand.take()
    added = (
        "INSERT INTO callboard.project_items (id, project_id, position, title, agent_name, task_type, input, priority,"
        " created_at, updated_at)"
        " VALUES ('it_x', %s, 2, 'b', 'diary', 'write', '{}', 2, callboard.now(), callboard.now())"
    )

    def add(conn: Connection) -> None:
        conn.execute(LOCK, [project_id])
        conn.execute(added, [project_id])

    with first_open(add):
        ending = second(lambda: by_hand.complete(claimed))
    assert ending.result(30) == "completed"
    assert queue(project_id).is_running
    assert by_hand.take()[1] is not None


def test_a_revival_waits_for_a_start_and_is_refused(
    make_project: MakeProject, by_hand: WorkerByHand, second: Second
) -> None:
    project_id, dead = begun_loop(make_project, by_hand)
    by_hand.fail(dead)
    with first_open(start_loop(project_id)):
        reviving = second(lambda: state.retry(dead.id))
    with pytest.raises(QueueAlreadyRunning):
        reviving.result(30)
    assert queue(project_id).current_run_id == FIRST


def test_a_start_waits_for_a_revival_and_is_refused(
    make_project: MakeProject, by_hand: WorkerByHand, second: Second
) -> None:
    project_id, dead = begun_loop(make_project, by_hand)
    by_hand.fail(dead)
    revival = dict.fromkeys(("edited", "wanted", "scope", "by")) | {"ids": [dead.id], "why": "retried"}
    with first_open(lambda conn: fetch("revive", revival, conn)):
        starting = second(lambda: start_run(project_id, "loop"))
    with pytest.raises(QueueAlreadyRunning) as refused:
        starting.result(30)
    assert refused.value.run_id == dead.id


def test_a_locked_project_holds_up_nobody_else(
    start: Start, make_project: MakeProject, diary: Path, tmp_path: Path
) -> None:
    """The run's end waits for the lock; tasks of the same worker, and other projects, go on."""
    start()
    gate = tmp_path / "release"
    project_id, other = make_project("a", hold=str(gate)), make_project("other")
    start_run(project_id, "single")
    wait_for_line(diary, "begin a")
    with first_open(lambda conn: conn.execute(LOCK, [project_id])):
        gate.touch()
        wait_for_line(diary, "end a")
        payload = {"agent_name": "diary", "task_type": "write", "input": {}}
        assert wait_until_finished(state.submit("agent", payload).task_id).status == "completed"
        start_run(other, "single")
        wait_until_stopped(other)
        assert queue(project_id).is_running
    wait_until_stopped(project_id)
    assert statuses(project_id) == ["completed"]


def test_a_run_waits_for_a_locked_project_before_it_takes_its_item(
    start: Start, make_project: MakeProject, diary: Path, connection: Observer
) -> None:
    project_id = make_project("a")
    run = "SELECT status FROM callboard.tasks WHERE actor = 'project_run'"
    run_id = start_run(project_id, "single")
    with first_open(lambda conn: conn.execute(LOCK, [project_id])):
        start()
        eventually(lambda: connection.fetch_one(run)["status"] == "running", what="the run is claimed")
        wait_until_blocked(connection)
        assert begins(diary) == []
    wait_until_stopped(project_id)
    assert (statuses(project_id), state.get_task(run_id).attempt) == (["completed"], 1)


def test_a_project_that_is_locked_for_long_costs_no_attempt(
    start: Start, make_project: MakeProject, diary: Path, postgres: TestPostgres
) -> None:
    """The run gives up waiting after some tries, and goes back to the queue as soon as that can be written."""
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    position = postgres.log_size()
    with first_open(lambda conn: conn.execute(LOCK, [project_id])):
        start(actors="actors,tests.projects.agents,tests.projects.impatient")
        eventually(lambda: postgres.log_since(position).count("lock timeout") >= 6, what="the run gives up")
        assert begins(diary) == []
    wait_until_stopped(project_id)
    assert "released" in [event.data.get("reason") for event in state.get_events(run_id)]
    assert (statuses(project_id), state.get_task(run_id).attempt) == (["completed"], 1)


def test_many_add_items_at_once(make_project: MakeProject, diary: Path) -> None:
    project_id = make_project()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: add_items(project_id, [make_item(diary, f"{n}-{i}") for i in range(5)]), range(8)))
    items = list_items(project_id)
    assert [item.position for item in items] == list(range(1, 41))
