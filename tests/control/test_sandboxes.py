"""Commands of tasks on real workers: when a task stops, no process of its sandbox is left."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import actors  # noqa: F401  (sets the broker)
import state
import tests.support.controlactors  # noqa: F401  (declares the actors that the tests submit to)
from broker.execution import sandboxes
from state import get_attempts, get_events, get_task, submit
from state.errors import InvalidPayload
from tests.support.eventually import eventually
from tests.support.following import (
    get_error,
    get_stages,
    read_lines,
    wait_for_line,
    wait_for_status,
    wait_until_finished,
)
from tests.support.workers import WITHOUT_TIMER, WorkerTree

Start = Callable[..., WorkerTree]

# Writes the pids of itself and of a grandchild that has left its group, its session and its parent.
FAMILY = """
import os, sys, time
def told():
    with open(sys.argv[1], "a") as out:
        out.write("pid %d\\n" % os.getpid())
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    told()
    time.sleep(300)
os.wait()
told()
print("ready", flush=True)
time.sleep(300)
"""


@pytest.fixture(autouse=True)
def _without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """These commands write where the tests look, outside of their workspaces."""
    monkeypatch.setenv("CALLBOARD_SANDBOX", "process")


def run(*command: str, **options: Any) -> str:
    payload = {"agent_name": "command", "task_type": "run", "input": {"command": list(command), **options}}
    return submit("agent", payload).task_id


def family(out: Path) -> str:
    return run(sys.executable, "-c", FAMILY, str(out))


def pids(out: Path, count: int = 2) -> list[int]:
    wait_for_line(out, "pid", count)
    return [int(line.split()[1]) for line in read_lines(out)]


def gone(found: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) for pid in found)


def nothing_is_left(found: list[int], tmp_path: Path) -> None:
    eventually(lambda: gone(found), timeout=5, what="no process of the sandbox is left")
    eventually(lambda: not list(tmp_path.glob("workspaces/*")), timeout=5, what="no workspace is left")


def killed(task_id: str) -> list[dict[str, Any]]:
    return [event.data for event in get_events(task_id) if event.data.get("stage") == "sandbox killed"]


def logged(task_id: str) -> str:
    return "".join(event.data["text"] for event in get_events(task_id) if event.kind == "log")


def test_a_command_and_its_result(worker: Start, tmp_path: Path) -> None:
    worker()
    task = wait_until_finished(run("sh", "-c", "echo hello; echo oops >&2; exit 3"))
    assert task.status == "completed"
    assert task.result == {**task.result, "exit_code": 3, "output": "hello\noops\n"}
    assert (task.result["truncated"], task.result["timed_out"]) == (False, False)
    assert logged(task.task_id) == "hello\noops\n"
    late = wait_until_finished(run("sleep", "300", timeout_seconds=0.2))
    assert (late.result["exit_code"], late.result["timed_out"]) == (-9, True)
    odd = wait_until_finished(run("printf", "a\\000b"))  # as Postgres could not store it
    assert odd.result["output"] == "a\ufffdb"
    assert not list((tmp_path / "workspaces").iterdir())


def test_a_command_that_cannot_be_started_is_not_tried_again(worker: Start) -> None:
    worker()
    task = wait_until_finished(run("no-such-program"))
    assert (task.status, task.attempt) == ("dead", 1)
    assert (get_error(task)["type"], get_error(task)["category"]) == ("CommandNotFound", "permanent")
    assert "no-such-program" in get_error(task)["message"]


def test_without_a_provider_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes, "_provider", None)
    with pytest.raises(RuntimeError, match="set_provider"):
        sandboxes.Sandboxes(None, None).run(["true"], 1, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"command": []}, {"command": ["ls"], "timeout_seconds": 0}, {"command": ["ls"], "shell": True}]
)
def test_a_wrong_input_is_refused_at_submit(database_url: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload, match="input"):
        submit("agent", {"agent_name": "command", "task_type": "run", "input": given})


def test_output_is_emitted_while_the_command_runs_up_to_a_limit(worker: Start, tmp_path: Path) -> None:
    worker()
    task_id = run(
        "sh", "-c", "echo first; until [ -e $0 ]; do sleep 0.02; done; yes | head -c 3000000", f"{tmp_path}/go"
    )
    eventually(lambda: "first" in logged(task_id), what="its output is told")
    assert get_task(task_id).status == "running"
    (tmp_path / "go").touch()
    task = wait_until_finished(task_id)
    assert task.result["truncated"]
    assert len(logged(task_id)) < 250_000
    assert "left out" in logged(task_id)


@pytest.mark.parametrize("force", [False, True])
def test_cancel_kills_the_sandbox_and_says_so(worker: Start, tmp_path: Path, force: bool) -> None:
    tree = worker()
    out = tmp_path / "out.txt"
    task_id = family(out)
    found = pids(out)
    state.cancel(task_id, force=force)
    assert wait_until_finished(task_id).status == "canceled"
    assert gone(found)
    assert get_stages(task_id) == ["requested", "seen", "sandbox killed", "stopped"]
    [stage] = killed(task_id)
    assert (stage["killed"], stage["survivors"]) == (2, [])
    nothing_is_left(found, tmp_path)
    assert tree.log.read_text().count('"worker ready"') == 1  # nobody had to replace it


def test_a_cancel_at_any_moment_leaves_no_process(worker: Start, tmp_path: Path) -> None:
    worker(threads=6)
    out = tmp_path / "out.txt"
    tasks = [family(out) for _ in range(12)]
    for task_id in tasks:
        eventually(lambda: get_task(task_id).status == "running", every=0.005)  # noqa: B023
        state.cancel(task_id)
    assert {wait_until_finished(task_id).status for task_id in tasks} == {"canceled"}
    nothing_is_left(pids(out, 0), tmp_path)


def test_an_async_actor_runs_it_in_a_thread(worker: Start, tmp_path: Path) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = submit("async_sandbox", {"value": ["echo", "hello"]}).task_id
    assert wait_until_finished(task_id).result == "hello\n"
    task_id = submit("async_sandbox", {"value": [sys.executable, "-c", FAMILY, str(out)]}).task_id
    found = pids(out)
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    assert gone(found)
    assert get_stages(task_id) == ["requested", "seen", "sandbox killed", "stopped"]
    nothing_is_left(found, tmp_path)


def test_pause_kills_the_sandbox_and_resume_runs_it_again(worker: Start, tmp_path: Path) -> None:
    worker()
    out = tmp_path / "out.txt"
    task_id = family(out)
    found = pids(out)
    state.pause(task_id)
    wait_for_status(task_id, "paused")
    assert get_stages(task_id) == ["requested", "seen", "sandbox killed", "stopped"]
    nothing_is_left(found, tmp_path)
    state.resume(task_id)
    again = pids(out, 4)[2:]
    assert set(again).isdisjoint(found)
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    nothing_is_left(again, tmp_path)


def test_a_worker_killed_outright_leaves_nothing(worker: Start, tmp_path: Path) -> None:
    tree = worker()
    out = tmp_path / "out.txt"
    task_id = family(out)
    found = pids(out)
    tree.signal_all(signal.SIGKILL)
    nothing_is_left(found, tmp_path)
    assert killed(task_id) == []


def test_a_worker_that_shuts_down_gives_the_task_back_and_leaves_nothing(worker: Start, tmp_path: Path) -> None:
    tree = worker(grace_seconds=0)
    out = tmp_path / "out.txt"
    task_id = family(out)
    found = pids(out)
    tree.terminate()
    wait_for_status(task_id, "queued")
    assert [each["outcome"] for each in get_attempts(task_id)] == ["released"]
    assert get_stages(task_id) == []
    nothing_is_left(found, tmp_path)


def test_a_lost_lease_kills_the_sandbox(worker: Start, tmp_path: Path) -> None:
    tree = worker(lease_seconds=3, pulse_seconds=0.5, actors=WITHOUT_TIMER)
    out = tmp_path / "out.txt"
    task_id = family(out)
    found = pids(out)
    [child] = tree.children()
    os.kill(child.pid, signal.SIGSTOP)
    try:
        worker(lease_seconds=3, pulse_seconds=0.5)
        again = pids(out, 4)[2:]  # its successor has begun
    finally:
        os.kill(child.pid, signal.SIGCONT)
    eventually(lambda: gone(found), timeout=10, what="the first one's processes are gone")
    assert not gone(again)
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    nothing_is_left(again, tmp_path)


def test_a_replaced_process_takes_the_sandboxes_of_others_with_it(worker: Start, tmp_path: Path) -> None:
    tree = worker()
    out, stuck = tmp_path / "out.txt", tmp_path / "stuck.txt"
    stubborn = submit("stubborn", {"seconds": 300, "file": str(stuck)}).task_id
    beside = family(out)
    wait_for_line(stuck, "start")
    found = pids(out)
    state.cancel(stubborn, force=True)
    assert wait_until_finished(stubborn, timeout=15).status == "canceled"
    eventually(lambda: gone(found), timeout=5, what="its processes are gone")
    again = pids(out, 4)[2:]  # in the new process
    state.cancel(beside)
    assert wait_until_finished(beside).status == "canceled"
    nothing_is_left(again, tmp_path)
    assert tree.log.read_text().count('"worker ready"') == 2
