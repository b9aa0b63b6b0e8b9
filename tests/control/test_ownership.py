"""Code runs only while its process owns the task; another process gets the task only when the code is gone."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import actors  # noqa: F401  (sets the broker)
import state
import tests.support.controlactors  # noqa: F401  (declares the actors that the tests submit to)
from state import get_attempts, get_events, get_task, submit
from tests.support.eventually import eventually
from tests.support.following import wait_for_line, wait_until_finished
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]


def is_replaced(pid: int) -> bool:
    """Returns whether the process was replaced. All threads of the old program are gone then."""
    return b"broker.worker.restart" in Path(f"/proc/{pid}/cmdline").read_bytes()


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def without_postgres(postgres: TestPostgres) -> Iterator[Callable[[], None]]:
    """Stops the server at once; it is started again after the test."""
    stopped = []

    def stop() -> None:
        postgres.stop()
        stopped.append(True)

    yield stop
    if stopped:
        postgres.start_again()


@pytest.mark.parametrize("actor", ["stubborn", "swallow"])
def test_code_that_does_not_stop_is_gone_before_its_lease_ends(
    worker: Start, tmp_path: Path, without_postgres: Callable[[], None], actor: str
) -> None:
    lease = 8
    tree = worker(threads=1, lease_seconds=lease, pulse_seconds=0.5)
    out = tmp_path / "out.txt"
    submit(actor, {"seconds": 300, "file": str(out)})
    wait_for_line(out, "start")
    [child] = tree.children()
    without_postgres()
    cut_off = time.monotonic()  # no lease was renewed after this moment
    eventually(lambda: is_replaced(child.pid), timeout=lease - (time.monotonic() - cut_off))


def test_code_that_stops_is_stopped_before_its_lease_ends_without_a_replacement(
    worker: Start, tmp_path: Path, without_postgres: Callable[[], None]
) -> None:
    lease = 8
    tree = worker(threads=2, lease_seconds=lease, pulse_seconds=0.5)
    out = tmp_path / "out.txt"
    submit("withdraws", {"file": str(out)})
    wait_for_line(out, "start")
    [child] = tree.children()
    without_postgres()
    eventually(lambda: '"lease lost"' in tree.log.read_text(), timeout=lease)
    assert not is_replaced(child.pid)


@pytest.mark.parametrize("end", ["force", "sigterm"])
def test_a_task_is_released_only_when_its_code_is_gone(worker: Start, tmp_path: Path, end: str) -> None:
    tree = worker(threads=1, grace_seconds=0.2, actors=f"{TEST_ACTORS},tests.control.slowends")
    out = tmp_path / "out.txt"
    task_id = submit("stubborn", {"seconds": 300, "file": str(out)}).task_id
    wait_for_line(out, "start")
    [child] = tree.children()
    program = Path(f"/proc/{child.pid}/cmdline").read_bytes()
    if end == "force":
        state.cancel(task_id, force=True)
    else:
        tree.terminate()

    def is_released() -> bool:
        running_before = (
            Path(f"/proc/{child.pid}").exists() and Path(f"/proc/{child.pid}/cmdline").read_bytes() == program
        )
        status = get_task(task_id).status
        assert not (status != "running" and running_before), "released while its code still ran"
        return status != "running"

    eventually(is_released, timeout=60, every=0.005)
    task = get_task(task_id)
    if end == "force":
        assert task.status == "canceled"
        stages = [event.data["stage"] for event in get_events(task_id) if event.kind == "control"]
        assert stages == ["requested", "seen", "still running", "stopped"]
    else:
        assert (task.status, task.attempt) == ("queued", 0)
        assert [attempt["outcome"] for attempt in get_attempts(task_id)] == ["released"]


@pytest.mark.parametrize("ends", ["slowends", "brokenends"])
def test_a_process_that_dies_during_its_replacement_loses_nothing(
    worker: Start, tmp_path: Path, connection: Observer, ends: str
) -> None:
    """The end of the task is noted in its lease. The process that recovers the lease writes it, once. A replacement
    that fails ends the process as well: it would hold its tasks for ever."""
    tree = worker(threads=1, actors=f"{TEST_ACTORS},tests.control.{ends}")
    out = tmp_path / "out.txt"
    task_id = submit("stubborn", {"seconds": 300, "file": str(out)}).task_id
    wait_for_line(out, "start")
    [child] = tree.children()
    state.cancel(task_id, force=True)
    if ends == "slowends":
        noted = "SELECT count(*) AS n FROM callboard.leases WHERE on_loss IS NOT NULL"
        eventually(lambda: connection.execute(noted).fetchone() == {"n": 1})
        os.kill(child.pid, signal.SIGKILL)
    tree.wait()
    assert get_task(task_id).status == "running"
    worker(threads=1)
    assert wait_until_finished(task_id).status == "canceled"
    stages = [event.data["stage"] for event in get_events(task_id) if event.kind == "control"]
    assert stages == ["requested", "seen", "still running", "stopped"]
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_code_that_lets_no_thread_run_is_gone_before_its_successor_starts(worker: Start, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    tree = worker(threads=2, lease_seconds=4, pulse_seconds=0.5)
    task_id = submit("greedy", {"file": str(out)}).task_id
    eventually(lambda: out.exists() and out.read_text().strip())
    worker(threads=2, lease_seconds=4, pulse_seconds=0.5)
    task = wait_until_finished(task_id)
    assert (task.status, task.epoch, task.result) == ("completed", 2, False)
    tree.wait()
    assert [attempt["outcome"] for attempt in get_attempts(task_id)] == ["lost", "completed"]


def test_a_process_that_is_suspended_past_its_lease_does_not_go_on(worker: Start, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    tree = worker(threads=2, lease_seconds=4, pulse_seconds=0.5)
    submit("steps", {"seconds": 300, "file": str(out)})
    wait_for_line(out, "start")
    [child] = tree.children()
    child.send_signal(signal.SIGSTOP)
    eventually(lambda: has_ended(child))
    tree.wait()


def test_a_process_that_runs_nothing_outlives_its_leases(
    worker: Start, tmp_path: Path, without_postgres: Callable[[], None], postgres: TestPostgres
) -> None:
    tree = worker(threads=2, lease_seconds=3, pulse_seconds=0.5)
    wait_until_finished(submit("note", {}).task_id)
    [child] = tree.children()
    without_postgres()
    lost = time.monotonic()
    eventually(lambda: time.monotonic() - lost > 5 or not child.is_running())
    assert child.is_running()
