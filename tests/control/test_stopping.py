"""Stopping running tasks on real workers: the stages of a stop, code that does not stop, and force."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import actors  # noqa: F401  (sets the broker)
import state
import tests.support.controlactors  # noqa: F401  (declares the actors that the tests submit to)
from state import get_attempts, get_events, get_task, submit
from state.database import connect
from state.workers import leases
from state.workers.leases import ClaimRequest
from state.workers.registry import list_workers
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import get_stages, read_lines, wait_for_line, wait_for_status, wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]


def test_pause_keeps_the_checkpoint_and_resume_goes_on_from_it(worker: Start, tmp_path: Path) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = submit("pages", {"file": str(out), "value": 8, "seconds": 0.1}).task_id
    wait_for_line(out, "page 2")
    assert state.pause(task_id).status in ("running", "paused")  # the worker may be quicker than the answer
    paused = wait_for_status(task_id, "paused")
    assert get_stages(task_id) == ["requested", "seen", "stopped"]
    assert get_attempts(task_id)[0]["outcome"] == "paused"
    assert (paused.attempt, paused.lane) == (0, "primary")
    done = [line for line in read_lines(out) if line.startswith("page")]
    state.resume(task_id)
    task = wait_until_finished(task_id)
    assert (task.status, task.result, task.attempt, task.epoch, task.lane) == ("completed", 8, 1, 2, "primary")
    assert f"start 2 at {len(done)}" in read_lines(out)
    assert [line for line in read_lines(out) if line.startswith("page")] == [f"page {n}" for n in range(1, 9)]


@pytest.mark.parametrize(("verb", "extra"), [("cancel", ["provider canceled"]), ("pause", [])])
def test_an_actor_withdraws_its_job_only_when_it_is_canceled(
    worker: Start, tmp_path: Path, verb: str, extra: list[str]
) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = submit("withdraws", {"file": str(out)}).task_id
    wait_for_line(out, "start")
    getattr(state, verb)(task_id)
    wait_for_status(task_id, {"cancel": "canceled", "pause": "paused"}[verb])
    assert get_stages(task_id) == ["requested", "seen", *extra, "stopped"]
    kinds = [event.kind for event in get_events(task_id)]
    assert kinds[-1] == "status"  # the end stands at the end


def test_an_async_actor_has_time_to_clean_up_before_it_counts_as_stopped(worker: Start, tmp_path: Path) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = submit("async_cleanup", {"file": str(out), "seconds": 1.5}).task_id
    wait_for_line(out, "start")
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    assert read_lines(out) == ["start 1", "cleaned up"]


def test_a_task_that_waits_for_a_thread_is_stopped_before_it_runs(
    worker: Start, tmp_path: Path, connection: Observer
) -> None:
    tree = worker(threads=1)
    out = tmp_path / "out.txt"
    task_id = submit("steps", {"seconds": 60, "file": str(out)}).task_id
    wait_for_line(out, "start")
    waiting = submit("noop", {}).task_id
    assert state.cancel(waiting).status == "canceled"
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    assert "Traceback" not in tree.log.read_text()


def test_eight_busy_threads_that_ignore_interrupts_do_not_keep_the_others_from_stopping(
    worker: Start, tmp_path: Path
) -> None:
    tree = worker(threads=10)
    out, other = tmp_path / "busy.txt", tmp_path / "other.txt"
    busy = [submit("swallow", {"seconds": 300, "file": str(out)}).task_id for _ in range(8)]
    wait_for_line(out, "start", 8)
    paused = submit("steps", {"seconds": 60, "file": str(other)}).task_id
    canceled = submit("steps", {"seconds": 60, "file": str(other)}).task_id
    wait_for_line(other, "start", 2)
    for task_id in busy:
        state.cancel(task_id)
    wait_for_line(out, "swallowed CancelRequested", 8)
    state.pause(paused)
    state.cancel(canceled)
    eventually(lambda: (get_task(paused).status, get_task(canceled).status) == ("paused", "canceled"))
    eventually(lambda: all("still running" in get_stages(task_id) for task_id in busy))
    [report] = [e.data for e in get_events(busy[0]) if e.data.get("stage") == "still running"]
    assert "controlactors.py" in report["where"]
    assert {get_task(task_id).status for task_id in busy} == {"running"}
    tree.kill()


def test_force_replaces_the_process_and_gives_everything_else_back(worker: Start, tmp_path: Path) -> None:
    tree = worker(processes=2, threads=3)
    out, other = tmp_path / "stuck.txt", tmp_path / "other.txt"
    stuck = submit("stubborn", {"seconds": 300, "file": str(out)}).task_id
    wait_for_line(out, "start")
    rest = [submit("steps", {"seconds": 6, "file": str(other)}).task_id for _ in range(5)]
    wait_for_line(other, "start", 5)
    home = get_task(stuck).worker_id
    beside = [each for each in rest if get_task(each).worker_id == home]
    elsewhere = [each for each in rest if each not in beside]
    assert beside
    assert elsewhere
    pids = [child.pid for child in tree.children()]
    assert state.cancel(stuck).status == "running"
    eventually(lambda: "still running" in get_stages(stuck), timeout=10)
    assert get_task(stuck).status == "running"  # asked without force, it goes on
    state.cancel(stuck, force=True)
    assert wait_until_finished(stuck, timeout=15).status == "canceled"
    assert get_stages(stuck)[-1] == "stopped"
    for each in rest:
        assert wait_until_finished(each).status == "completed"
    assert {get_task(each).attempt for each in rest} == {1}
    assert all([a["outcome"] for a in get_attempts(each)] == ["released", "completed"] for each in beside)
    assert all([a["outcome"] for a in get_attempts(each)] == ["completed"] for each in elsewhere)
    # Another boot under the same pid; Dramatiq's master has not noticed, and can still end them all.
    assert [child.pid for child in tree.children()] == pids
    names = {row["id"] for row in list_workers()}
    assert len(names) == 2
    assert home not in names
    assert "end" not in out.read_text()
    again = submit("note", {"value": 1}).task_id
    assert wait_until_finished(again).status == "completed"
    tree.terminate()
    assert tree.wait(timeout=20) == 0


def test_a_replaced_process_can_be_replaced_again_and_its_children_are_gone(worker: Start, tmp_path: Path) -> None:
    tree = worker(processes=1, threads=2)
    for round_ in (1, 2):
        out = tmp_path / f"{round_}.txt"
        task_id = submit("stubborn_child", {"seconds": 300, "file": str(out)}).task_id
        wait_for_line(out, "child")
        child = int(read_lines(out)[0].split()[1])
        state.cancel(task_id, force=True)
        assert wait_until_finished(task_id, timeout=20).status == "canceled"
        eventually(lambda: not psutil.pid_exists(child), what="the child is gone")  # noqa: B023
    assert tree.log.read_text().count('"worker ready"') >= 2
    tree.terminate()
    assert tree.wait(timeout=20) == 0


def test_an_orphan_inside_a_live_process_is_given_back(worker: Start, tmp_path: Path) -> None:
    """A claim whose answer was lost leaves such an orphan."""
    worker()
    wait_until_finished(submit("noop", {}).task_id)
    [alive] = [row["id"] for row in list_workers()]
    out = tmp_path / "hold.txt"
    task_id = submit("note", {"value": 1, "file": str(out)}, delay_seconds=0).task_id
    wait_until_finished(task_id)
    with connect("test") as own, own.transaction():
        orphan = submit("note", {"value": 2}, conn=own).task_id
        request = ClaimRequest(alive, 0, ["test"], [], 1, 0, 0, [], None, 0.3)
        assert [each.id for each in leases.claim(own, request).tasks] == [orphan]
    assert get_task(orphan).worker_id == alive
    task = wait_until_finished(orphan)
    assert (task.status, task.result, task.attempt, task.epoch) == ("completed", 2, 1, 2)
    assert [a["outcome"] for a in get_attempts(orphan)] == ["released", "completed"]


IMPATIENT = f"{TEST_ACTORS},tests.control.impatient"


def test_the_process_of_code_beyond_its_time_limit_that_does_not_stop_is_replaced(
    worker: Start, tmp_path: Path, clock: Clock
) -> None:
    tree = worker(threads=2, actors=IMPATIENT)
    out, other = tmp_path / "out.txt", tmp_path / "other.txt"
    task_id = submit("overdue", {"seconds": 300, "file": str(out)}).task_id
    beside = submit("steps", {"seconds": 6, "file": str(other)}).task_id
    first = wait_for_status(task_id, "scheduled")
    assert (first.attempt, (first.error or {})["type"]) == (1, "TimeLimitExceeded")
    clock.advance(10)
    dead = wait_until_finished(task_id)
    assert (dead.status, dead.attempt) == ("dead", 2)
    task = wait_until_finished(beside)
    assert (task.status, task.attempt) == ("completed", 1)
    assert len(tree.children()) == 1


def test_a_frozen_process_whose_code_does_not_stop_is_replaced(worker: Start, tmp_path: Path) -> None:
    """Its lease is over, so it must not disturb the process that owns the task now."""
    settings = {"threads": 1, "lease_seconds": 3, "pulse_seconds": 0.5, "actors": IMPATIENT}
    tree = worker(**{**settings, "actors": f"{IMPATIENT},tests.support.withouttimer"})
    out = tmp_path / "out.txt"
    task_id = submit("stubborn", {"seconds": 300, "file": str(out)}, max_attempts=1).task_id
    wait_for_line(out, "start")
    [child] = tree.children()
    os.kill(child.pid, signal.SIGSTOP)
    try:
        worker(**settings)
        assert (wait_until_finished(task_id).error or {})["type"] == "WorkerLost"
    finally:
        os.kill(child.pid, signal.SIGCONT)
    eventually(lambda: tree.log.read_text().count('"worker ready"') == 2, what="it was replaced")
    assert [each.pid for each in tree.children()] == [child.pid]
    assert get_task(task_id).status == "dead"


def test_pausing_a_task_over_the_token_limit_ends_it(worker: Start, tmp_path: Path) -> None:
    worker(token_limit=100)
    out = tmp_path / "out.txt"
    request = {"value": 2000, "seconds": 0.02, "file": str(out), "text": "stubborn"}
    task_id = submit("spends", request).task_id
    wait_for_line(out, "150")
    state.pause(task_id)
    task = wait_until_finished(task_id)
    assert (task.status, (task.error or {})["type"]) == ("dead", "TokenLimitExceeded")
    assert task.usage["tokens"] > 100
    assert get_stages(task_id) == ["requested", "seen", "stopped"]
