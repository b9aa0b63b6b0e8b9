"""Sandboxes as rows: written before the command starts, ended when its processes are gone, and found by the next worker
if nobody is left to end them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import actors  # noqa: F401  (sets the broker)
import state
from broker.worker.leftovers import Leftovers
from state import submit
from state.sandboxes import OpenSandbox, close_sandbox, list_on_this_host, list_unended
from state.workers.identity import Identity, Place
from state.workers.processes import find_start_ticks
from tests.providers.boxes import INTERPRETER, STUBBORN, all_gone, find_descendants, needs_bubblewrap
from tests.support.eventually import eventually
from tests.support.following import get_stages, wait_until_finished
from tests.support.users import as_nobody, needs_nobody, nobodys_data_dir
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
kinds = pytest.mark.parametrize("kind", ["process", pytest.param("bubblewrap", marks=needs_bubblewrap)])


def run(*command: str) -> str:
    payload = {"agent_name": "command", "task_type": "run", "input": {"command": list(command)}}
    return submit("agent", payload).task_id


def stubborn() -> str:
    return run(INTERPRETER, "-I", "-c", STUBBORN)


def settings(kind: str) -> dict[str, str]:
    return {"sandbox": kind, "sandbox_folders": sys.base_prefix}


_found: list[psutil.Process] = []


@pytest.fixture(autouse=True)
def _kill_what_a_failed_test_leaves() -> Iterator[None]:
    yield
    while _found:
        with suppress(psutil.NoSuchProcess):
            _found.pop().kill()


def find_processes(task_id: str, tmp_path: Path) -> tuple[int, list[psutil.Process]]:
    """Waits until the stubborn command is as stubborn as it can be. Returns the supervisor's pid, and all processes."""

    def ready() -> bool:
        names = {path.name for path in tmp_path.glob("workspaces/sandbox-*/*")}
        return {"far", "first"} <= names

    eventually(ready, what="its processes are there")
    [row] = list_unended(task_id)
    [supervisor] = row["pids"]
    _found[:] = [psutil.Process(supervisor), *find_descendants(supervisor)]
    return supervisor, list(_found)


def get_row(connection: Any, task_id: str) -> dict[str, Any]:
    query = "SELECT * FROM callboard.sandboxes WHERE task_id = %s ORDER BY id DESC"
    row: dict[str, Any] = connection.execute(query, [task_id]).fetchone()
    return row


def no_group_is_left(connection: Any) -> bool:
    rows = connection.execute("SELECT unnest(control_groups) AS path FROM callboard.sandboxes").fetchall()
    return not any(Path(row["path"]).exists() for row in rows)


def test_a_row_for_each_command(worker: Start, connection: Any) -> None:
    tree = worker(sandbox="process")
    task_id = run("sh", "-c", "setsid sleep 300 & echo done")
    assert wait_until_finished(task_id).result["sandbox"] == "process"
    row = get_row(connection, task_id)
    assert (row["task_id"], row["epoch"], row["kind"], row["container"]) == (task_id, 1, "process", None)
    assert row["started_at"] <= row["ended_at"]
    assert (row["killed"], row["survivors"]) == (1, [])
    assert row["worker_id"].split(":")[1] == str(tree.children()[0].pid)
    assert list_unended(task_id) == []


@kinds
def test_force_stop_of_a_command_that_resists(worker: Start, tmp_path: Path, connection: Any, kind: str) -> None:
    tree = worker(**settings(kind))
    task_id = stubborn()
    _, processes = find_processes(task_id, tmp_path)
    assert len(processes) >= 3
    assert [each["kind"] for each in list_unended(task_id)] == [kind]
    state.cancel(task_id, force=True)
    eventually(lambda: all_gone(processes), timeout=5, what="every process is gone")
    assert wait_until_finished(task_id).status == "canceled"
    assert get_stages(task_id) == ["requested", "seen", "sandbox killed", "stopped"]
    assert list_unended(task_id) == []
    assert get_row(connection, task_id)["killed"] >= 1
    eventually(lambda: not list(tmp_path.glob("workspaces/*")), what="no workspace is left")
    assert no_group_is_left(connection)
    assert tree.log.read_text().count('"worker ready"') == 1  # nobody had to replace it


@kinds
def test_the_next_worker_ends_what_a_killed_one_has_left(
    worker: Start, tmp_path: Path, connection: Any, kind: str
) -> None:
    tree = worker(**settings(kind))
    task_id = stubborn()
    supervisor, processes = find_processes(task_id, tmp_path)
    for process in processes[:1]:  # first stopped, or it would see the end of its worker and do its work
        process.suspend()
    tree.signal_all(signal.SIGKILL)
    os.kill(supervisor, signal.SIGKILL)
    tree.wait()
    if kind == "process":
        assert not all_gone(processes)  # bubblewrap's die with their parent
    assert [each["id"] for each in list_unended(task_id)] == [get_row(connection, task_id)["id"]]
    state.cancel(task_id, force=True)  # so that the next worker does not run it again
    worker(**settings(kind), pulse_seconds=0.5)
    eventually(lambda: all_gone(processes), what="every process is gone")
    eventually(lambda: list_unended(task_id) == [], what="the row has ended")
    assert get_row(connection, task_id)["killed"] == (2 if kind == "process" else 0)
    eventually(lambda: not list(tmp_path.glob("workspaces/*")), what="no workspace is left")
    assert no_group_is_left(connection)


def test_a_sibling_ends_what_a_killed_worker_has_left(worker: Start, tmp_path: Path) -> None:
    first = worker(sandbox="process", pulse_seconds=0.5)
    task_id = stubborn()
    supervisor, processes = find_processes(task_id, tmp_path)
    worker(sandbox="process", pulse_seconds=0.5)
    state.cancel(task_id, force=False)  # it is not run again
    psutil.Process(supervisor).suspend()
    first.signal_all(signal.SIGKILL)
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: all_gone(processes), what="every process is gone")
    eventually(lambda: list_unended(task_id) == [], what="the row has ended")


def test_a_stopped_supervisor_of_a_dead_worker_is_ended_as_well(worker: Start, tmp_path: Path) -> None:
    tree = worker(sandbox="process")
    task_id = stubborn()
    supervisor, processes = find_processes(task_id, tmp_path)
    psutil.Process(supervisor).suspend()
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    state.cancel(task_id, force=True)
    worker(sandbox="process", pulse_seconds=0.5)
    eventually(lambda: all_gone(processes), what="every process is gone")
    eventually(lambda: list_unended(task_id) == [], what="the row has ended")


def test_rows_of_live_workers_are_left_alone(worker: Start, tmp_path: Path) -> None:
    worker(sandbox="process", pulse_seconds=0.5)
    task_id = stubborn()
    _, processes = find_processes(task_id, tmp_path)
    later = worker(sandbox="process", pulse_seconds=0.5)
    beside = run("true")
    assert wait_until_finished(beside).status == "completed"
    assert not all_gone(processes)
    assert "a sandbox that was left" not in later.log.read_text()
    assert [each["task_id"] for each in list_unended(task_id)] == [task_id]
    state.cancel(task_id, force=True)
    assert wait_until_finished(task_id).status == "canceled"


@pytest.fixture
def foreign_process(database_url: str) -> Any:
    """A process that a worker without root's rights cannot kill."""
    process = subprocess.Popen(["sleep", "300"])
    yield process
    process.kill()
    process.wait()


def open_row(connection: Any, pid: int, **columns: Any) -> str:
    """A sandbox of this machine whose worker and supervisor are dead, with a survivor."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    row = {"survivors": [pid], "survivor_ticks": [ticks], **columns}
    place = Place.of_this_process()
    connection.execute(
        """
        INSERT INTO callboard.sandboxes (id, task_id, epoch, worker_id, host, boot_id, pid_namespace, pid, start_ticks,
                                         kind, workspace, started_at, survivors, survivor_ticks)
        VALUES ('sb_1', 'tq_1', 1, 'gone', %s, %s, %s, 999999, 1, 'process', '/nowhere', callboard.now(), %s, %s)
        """,
        [place.host, row.get("boot_id", place.boot_id), place.pid_namespace, row["survivors"], row["survivor_ticks"]],
    )
    return "sb_1"


@needs_nobody
def test_what_cannot_be_killed_stays_listed_until_it_is_gone(
    connection: Any, database_url: str, foreign_process: subprocess.Popen[bytes], worker: Start
) -> None:
    open_row(connection, foreign_process.pid)
    with nobodys_data_dir(database_url) as data:
        tree = worker(sandbox="process", data_dir=data, through=as_nobody(), pulse_seconds=0.5)
        eventually(lambda: "cannot be killed" in tree.log.read_text(), what="it was tried")
        assert [(each["id"], each["pids"]) for each in list_unended("tq_1")] == [("sb_1", [foreign_process.pid])]
        assert foreign_process.poll() is None
        foreign_process.kill()
        foreign_process.wait()
        eventually(lambda: list_unended("tq_1") == [], what="somebody has seen that it is gone")


@pytest.mark.parametrize("survivors", [[], [7]])
def test_survivors_of_a_live_worker_are_looked_at_without_delay(survivors: list[int]) -> None:
    """Its worker has noted them, and does not come back to them; otherwise it is about to write the end."""
    parent = os.getppid()
    left = OpenSandbox(
        id="sb_1", task_id="tq_1", kind="process", pid=2**22 + 1, start_ticks=1, workspace="/w", container=None,
        control_groups=[], survivors=survivors, survivor_ticks=[1] * len(survivors), worker_id="w1", worker_pid=parent,
        worker_ticks=find_start_ticks(parent), rebooted=False,
    )  # fmt: skip
    assert Leftovers(Identity.of_this_process())._is_due(left, time.monotonic()) == bool(survivors)


def test_a_pid_alone_is_not_killed(connection: Any, foreign_process: subprocess.Popen[bytes], worker: Start) -> None:
    """Another process has got the pid of a survivor."""
    open_row(connection, foreign_process.pid, survivor_ticks=[1])
    worker(pulse_seconds=0.5)
    eventually(lambda: list_unended("tq_1") == [], what="the row has ended")
    assert foreign_process.poll() is None


def test_after_a_reboot_nothing_is_left(
    connection: Any, foreign_process: subprocess.Popen[bytes], worker: Start
) -> None:
    open_row(connection, foreign_process.pid, boot_id="before")
    worker(pulse_seconds=0.5)
    eventually(lambda: list_unended("tq_1") == [], what="the row has ended")
    assert foreign_process.poll() is None


def test_ends_are_written_once(connection: Any, foreign_process: subprocess.Popen[bytes]) -> None:
    sandbox = open_row(connection, foreign_process.pid)
    assert [each.id for each in list_on_this_host()] == [sandbox]
    close_sandbox(sandbox, 1, [(7, None)])
    assert [(each.survivors, each.survivor_ticks) for each in list_on_this_host()] == [([7], [0])]
    close_sandbox(sandbox, 2)
    close_sandbox(sandbox, 4)
    assert connection.execute("SELECT killed, survivors FROM callboard.sandboxes").fetchone() == {
        "killed": 3,
        "survivors": [],
    }
    assert list_on_this_host() == []
