"""Async actors run as coroutines, which hold no thread: many at once; stopped, killed and replaced like any task."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from broker import CancelRequested
from broker.execution.coroutines import Coroutines
from broker.execution.held import HeldTasks
from broker.execution.offload import Offload
from state import NewTask, cancel, get_attempts, get_events, get_task, submit, submit_many
from state.workers.registry import list_workers
from tests.broker.test_held import FOREVER, claimed
from tests.broker.test_worker import ended
from tests.support import coroutineactors  # noqa: F401  (declares them)
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

ACTORS = f"{TEST_ACTORS},tests.support.coroutineactors"

Start = Callable[..., WorkerTree]


def lines(journal: Path, kind: str) -> list[str]:
    if not journal.exists():
        return []
    return [line.partition(" ")[2] for line in journal.read_text().splitlines() if line.startswith(f"{kind} ")]


def submit_waits(journal: Path, count: int, **more: object) -> list[str]:
    return submit_many([NewTask("waits", {"journal": str(journal), **more}) for _ in range(count)])


def all_inside(journal: Path, count: int) -> None:
    eventually(lambda: len(lines(journal, "begin")) >= count, what=f"{count} coroutines inside")


def test_two_hundred_are_inside_at_once_beside_two_threads(worker: Start, tmp_path: Path) -> None:
    journal, door = tmp_path / "journal", tmp_path / "door"
    tree = worker(actors=ACTORS, threads=2, coroutines=200)
    sitting = [submit("sits", {"journal": str(journal), "until": str(door)}).task_id for _ in range(2)]
    ids = submit_waits(journal, 200, until=str(door))
    more = submit_waits(journal, 5, until=str(door))
    all_inside(journal, 200)
    eventually(lambda: len(lines(journal, "sits")) == 2, what="both threads are occupied")
    assert {get_task(task_id).status for task_id in more} == {"queued"}  # no task is held without a place for it
    [row] = list_workers()
    assert (row["threads"], row["coroutines"], row["running"]) == (2, 200, 202)
    assert tree.children()[0].num_threads() < 60
    door.touch()
    assert {ended(task_id).status for task_id in [*ids, *more, *sitting]} == {"completed"}
    threads = {get_task(task_id).result for task_id in [*ids, *more]}
    assert len(threads) == 1  # that of the event loop
    assert not threads & {get_task(task_id).result for task_id in sitting}


def test_tasks_in_queues_of_the_other_kind_find_their_places(worker: Start, tmp_path: Path) -> None:
    """All actors of `language` are async, all of `gated` are sync; a submit may name another queue."""
    worker(actors=ACTORS, threads=1, coroutines=2)
    payload = {"journal": str(tmp_path / "journal")}
    for _ in range(2):  # the second time, the worker knows the queue as one of both kinds
        sync = submit_many([NewTask("sits", payload, queue="language") for _ in range(2)])
        asynchronous = submit_many([NewTask("waits", payload, queue="gated") for _ in range(3)])
        assert {ended(task_id).status for task_id in [*sync, *asynchronous]} == {"completed"}
        loops = {get_task(task_id).result for task_id in asynchronous}
        assert len(loops) == 1
        assert not loops & {get_task(task_id).result for task_id in sync}


def test_killed_with_a_hundred_none_is_lost_and_none_runs_twice(worker: Start, tmp_path: Path) -> None:
    journal, door = tmp_path / "journal", tmp_path / "door"
    tree = worker(actors=ACTORS, coroutines=100)
    ids = submit_waits(journal, 100, until=str(door))
    all_inside(journal, 100)
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    assert not lines(journal, "end")
    worker(actors=ACTORS, coroutines=100)
    all_inside(journal, 200)
    door.touch()
    assert {(task := ended(task_id)).status for task_id in ids} == {"completed"}
    assert {get_task(task_id).attempt for task_id in ids} == {2}
    assert Counter(lines(journal, "end")) == Counter(ids)
    assert Counter(lines(journal, "begin")) == Counter([*ids, *ids])
    assert task.worker_id is None


def test_sigterm_releases_a_hundred_that_wait_without_burning_an_attempt(worker: Start, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    tree = worker(actors=ACTORS, coroutines=100, grace_seconds=0.5)
    ids = submit_waits(journal, 100, seconds=600)
    all_inside(journal, 100)
    tree.terminate()
    assert tree.wait(timeout=60) == 0
    for task_id in ids:
        task = get_task(task_id)
        assert (task.status, task.attempt, task.lane) == ("queued", 0, "primary")
        assert [attempt["outcome"] for attempt in get_attempts(task_id)] == ["released"]


def test_coroutines_may_finish_in_the_grace_time(worker: Start, tmp_path: Path) -> None:
    journal, door = tmp_path / "journal", tmp_path / "door"
    tree = worker(actors=ACTORS, grace_seconds=60)
    ids = submit_waits(journal, 10, until=str(door))
    all_inside(journal, 10)
    tree.terminate()
    eventually(lambda: "Shutting down" in tree.log.read_text())
    door.touch()
    assert tree.wait(timeout=60) == 0
    assert {get_task(task_id).status for task_id in ids} == {"completed"}


def test_a_coroutine_that_goes_on_is_code_that_does_not_stop(worker: Start, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    tree = worker(actors=ACTORS)
    [pid] = [child.pid for child in tree.children()]
    task_id = submit("stubborn_coroutine", {"journal": str(journal), "until": str(tmp_path / "door")}).task_id
    [other] = submit_waits(journal, 1, until=str(tmp_path / "door"))
    all_inside(journal, 2)
    cancel(task_id, force=True)
    assert ended(task_id).status == "canceled"
    assert lines(journal, "caught")
    stages = {event.data["stage"]: event.data for event in get_events(task_id) if event.kind == "control"}
    assert {"seen", "still running", "stopped"} <= set(stages)
    assert "coroutineactors.py" in stages["still running"]["where"] or "asyncio" in stages["still running"]["where"]
    eventually(lambda: tree.log.read_text().count('"worker ready"') == 2, what="the process was replaced")
    assert [child.pid for child in tree.children()] == [pid]
    (tmp_path / "door").touch()
    assert ended(other).status == "completed"
    assert get_task(other).attempt == 1  # it was released, and lost no attempt


def test_a_coroutine_that_blocks_the_loop_is_named_and_loses_its_process(worker: Start, tmp_path: Path) -> None:
    journal, door = tmp_path / "journal", tmp_path / "door"
    tree = worker(actors=ACTORS)
    others = submit_waits(journal, 5, until=str(door))
    all_inside(journal, 5)
    culprit = submit("blocks_loop", {"journal": str(journal), "seconds": 600}).task_id
    failed = eventually(lambda: (task := get_task(culprit)).status == "scheduled" and task, what="the culprit failed")
    assert failed.attempt == 1
    assert failed.error is not None
    assert failed.error["type"] == "LoopBlocked"
    assert "coroutineactors.py" in failed.error["message"]
    assert "_block" in failed.error["message"]
    named = [event.data["text"] for event in get_events(culprit) if event.kind == "log"]
    assert any("blocks the event loop" in text and "coroutineactors.py" in text for text in named)
    assert "a coroutine blocks the event loop" in tree.log.read_text()
    door.touch()
    assert {ended(task_id).status for task_id in others} == {"completed"}
    assert {get_task(task_id).attempt for task_id in others} == {1}
    assert {tuple(attempt["outcome"] for attempt in get_attempts(each)) for each in others} == {
        ("released", "completed")
    }


def test_a_coroutine_that_lets_go_of_the_loop_keeps_its_process(worker: Start, tmp_path: Path) -> None:
    tree = worker(actors=ACTORS)
    culprit = submit("blocks_loop", {"journal": str(tmp_path / "journal"), "seconds": 1.6}).task_id
    assert ended(culprit).status == "completed"
    assert [event for event in get_events(culprit) if event.kind == "log"]
    assert tree.log.read_text().count('"worker ready"') == 1


def test_transactions_of_many_coroutines_share_few_connections(
    worker: Start, tmp_path: Path, connection: Observer
) -> None:
    connection.execute("CREATE TABLE bookings (task_id text PRIMARY KEY)")
    journal = tmp_path / "journal"
    worker(actors=ACTORS, threads=2, coroutines=200)
    ids = submit_many([NewTask("books", {"journal": str(journal), "seconds": 0.02}) for _ in range(200)])
    assert {(ended(task_id).status, get_task(task_id).result) for task_id in ids} == {("completed", "booked")}
    rows = connection.execute("SELECT task_id FROM bookings").fetchall()
    assert sorted(row["task_id"] for row in rows) == sorted(ids)
    at_once = most = 0
    for line in journal.read_text().splitlines():
        at_once += 1 if line.startswith("inside") else -1
        most = max(most, at_once)
    assert 2 <= most <= 8


def test_a_canceled_transaction_writes_nothing(worker: Start, tmp_path: Path, connection: Observer) -> None:
    connection.execute("CREATE TABLE bookings (task_id text PRIMARY KEY)")
    journal = tmp_path / "journal"
    worker(actors=ACTORS)
    stuck = submit_many([NewTask("books", {"journal": str(journal), "seconds": 600}) for _ in range(12)])
    eventually(lambda: len(lines(journal, "inside")) == 8, what="as many as may be are inside")
    for task_id in stuck:
        cancel(task_id)
    assert {ended(task_id).status for task_id in stuck} == {"canceled"}
    assert connection.execute("SELECT count(*) AS n FROM bookings").fetchone() == {"n": 0}
    after = submit("books", {"journal": str(journal)}).task_id  # every place in a transaction is free again
    assert ended(after).result == "booked"


def test_verbs_that_need_a_second_connection_are_refused_in_a_transaction(worker: Start, tmp_path: Path) -> None:
    worker(actors=ACTORS)
    task = ended(submit("books_and_asks", {"journal": str(tmp_path / "journal")}).task_id)
    assert set(task.result) == {"save", "recall", "sandbox", "workspace", "require_gates"}
    assert all("before ctx.transaction()" in text for text in task.result.values())
    assert [event.data for event in get_events(task.task_id) if event.kind == "note"] == [{"text": "inside"}]


def test_the_context_has_the_same_verbs(worker: Start, tmp_path: Path) -> None:
    worker(actors=ACTORS)
    task = ended(submit("uses_all_verbs", {"journal": str(tmp_path / "journal")}).task_id, timeout=60)
    assert task.status == "completed", task.error
    assert task.result == {
        "checkpoint": {"one": 1, "two": 2, "three": 3}, "output": "hello\n", "cut": "yes", "shown": "text",
        "listed": ["a.txt"], "in another thread": True,
    }  # fmt: skip
    tokens = [event.data["text"] for event in get_events(task.task_id, limit=5000) if event.kind == "token"]
    assert tokens == [*map(str, range(1500)), "last"]
    assert task.usage == {"tokens": 3, "cost": 0.0}


@pytest.mark.parametrize("request_", ["cancel", "shutdown"])
def test_sync_code_of_a_coroutine_is_interrupted_in_its_thread(worker: Start, tmp_path: Path, request_: str) -> None:
    journal = tmp_path / "journal"
    tree = worker(actors=ACTORS)
    task_id = submit("calls_sync_code", {"journal": str(journal)}).task_id
    all_inside(journal, 1)
    if request_ == "cancel":
        cancel(task_id)
        assert ended(task_id).status == "canceled"
    else:
        tree.terminate()
        assert tree.wait(timeout=60) == 0
        assert get_task(task_id).status == "queued"


def test_a_coroutine_canceled_before_its_first_step_frees_its_place() -> None:
    loop = asyncio.new_event_loop()
    coroutines = Coroutines(loop, Offload(2))
    held = HeldTasks("w", 1, lambda _: None, None, 2, coroutines.start)
    coroutines.held = held
    tasks = [claimed("t1", 1), claimed("t2", 1)]
    for each in tasks:
        each.actor, each.payload = "waits", {"journal": "/dev/null", "seconds": 600}

    async def scenario() -> None:
        held.add(tasks, 1, FOREVER)
        await asyncio.sleep(0)  # they are made, and have not made a step
        [first, _] = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        first.cancel()  # by code that cancels whatever it finds
        for execution in held.executions():
            execution.interrupt(CancelRequested)  # before its coroutine is attached
        await asyncio.sleep(0.05)

    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()
    assert held.running() == []
    assert sorted(end.outcome for end in held.take_ends()) == ["released", "released"]


def test_foreign_middleware_runs_around_coroutines(
    worker: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, journal = tmp_path / "hooks", tmp_path / "journal"
    monkeypatch.setenv("CALLBOARD_TEST_HOOKS", str(hooks))
    names = ("plain", "skip", "middleware error", "error", "block", "fails")
    ids = {name: submit("hooked", {"journal": str(journal), "name": name}).task_id for name in names}
    in_thread = submit("hooked_thread", {"journal": str(journal), "name": "thread"}).task_id
    what = {task_id: name for name, task_id in ids.items()} | {in_thread: "skip"}
    Path(f"{hooks}.what").write_text("".join(f"{task_id}={name}\n" for task_id, name in what.items()))
    worker(actors=ACTORS)
    tasks = {name: ended(task_id) for name, task_id in ids.items()}
    assert {name: task.status for name, task in tasks.items()} == {
        "plain": "completed", "skip": "dead", "middleware error": "dead", "error": "completed", "block": "completed",
        "fails": "dead",
    }  # fmt: skip
    errors = {name: task.error["type"] for name, task in tasks.items() if task.error}
    assert errors == {"skip": "Refused", "middleware error": "MiddlewareError", "fails": "ValueError"}
    for name in ("plain", "error", "block"):
        assert tasks[name].result == ids[name]  # the code saw what the hook had set, each its own
    assert sorted(lines(journal, "code")) == ["block", "error", "fails", "plain"]
    assert sorted(lines(hooks, "before")) == sorted([*ids.values(), in_thread])
    assert sorted(lines(hooks, "skipped")) == sorted([ids["skip"], in_thread])
    after = dict(line.split(" ", 1) for line in lines(hooks, "after"))
    assert after[ids["plain"]] == f"{ids['plain']} NoneType"
    assert after[ids["fails"]] == f"{ids['fails']} ValueError"
    refused = ended(in_thread)
    assert (refused.status, refused.error and refused.error["type"]) == ("dead", "Refused")
    assert "code thread" not in journal.read_text()
