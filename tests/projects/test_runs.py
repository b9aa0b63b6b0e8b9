"""Runs of projects on real workers."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import state
from state import get_events, get_task
from state.errors import QueueAlreadyRunning
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.projects.items import NewItem, add_items, create_project, retry_item
from state.projects.queue import force_stop, start_run, stop
from state.projects.reads import get_project, list_items, list_runs
from tests.projects.agents import GATE
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject, Start, make_item
from tests.projects.looks import queue, reasons, statuses
from tests.support.eventually import eventually
from tests.support.following import read_lines, wait_for_line, wait_for_status, wait_until_finished
from tests.support.observer import Observer


def wait_until_stopped(project_id: str, timeout: float = 60) -> None:
    eventually(lambda: not queue(project_id).is_running, timeout, what=f"{project_id} has stopped")


def begins(diary: Path) -> list[str]:
    return [line.split()[1] for line in read_lines(diary) if line.startswith("begin ")]


def test_a_loop_ends_when_all_items_are_done(start: Start, make_project: MakeProject, diary: Path) -> None:
    tree = start()
    project_id = make_project("a", "b", "c")
    add_items(project_id, [make_item(diary, "later", "await")])  # an async agent
    start_run(project_id, "loop")
    wait_until_stopped(project_id)
    assert begins(diary) == ["a", "b", "c", "later"]
    assert statuses(project_id) == ["completed"] * 4
    assert [item.result["name"] for item in list_items(project_id)] == ["a", "b", "c", "later"]
    run = get_task(list_runs(project_id)[0].run_id)
    item = list_items(project_id)[3]
    assert run.result == {"item_id": item.item_id, "title": "later", "status": "completed", "result": item.result}
    assert (run.payload["agent_name"], run.payload["task_type"]) == ("diary", "await")
    assert [task.task_id for task in state.list_tasks(agent_name="diary", task_type="await")] == [run.task_id]
    told = [json.loads(line) for line in read_lines(tree.log) if '"queue changed"' in line]
    assert [line["reason"] for line in told] == ["next item"] * 3 + ["no pending items"]
    assert all(line["seconds"] >= 0 and line["project_id"] == project_id for line in told)
    add_items(project_id, [make_item(diary, "new")])
    start_run(project_id, "loop")  # again, at once
    wait_until_stopped(project_id)
    assert begins(diary)[-1] == "new"


def test_stop_during_an_item(start: Start, make_project: MakeProject, diary: Path, tmp_path: Path) -> None:
    start()
    gate = tmp_path / "release"
    project_id = make_project("a", "b", hold=str(gate))
    start_run(project_id, "loop")
    wait_for_line(diary, "begin a")
    stop(project_id)
    assert queue(project_id).is_running
    gate.touch()
    wait_until_stopped(project_id)
    assert statuses(project_id) == ["completed", "pending"]
    start_run(project_id, "single")
    wait_until_stopped(project_id)
    assert statuses(project_id) == ["completed", "completed"]
    assert begins(diary) == ["a", "b"]


def test_a_run_that_fails_three_times_is_dead(start: Start, make_project: MakeProject, diary: Path) -> None:
    start()
    project_id = make_project("a", "b", fails=True)
    start_run(project_id, "loop")
    wait_until_stopped(project_id)
    assert begins(diary) == ["a", "a", "a"]
    assert statuses(project_id) == ["failed", "pending"]
    assert queue(project_id).last_error == "ValueError: a has failed"
    retry_item(project_id, list_items(project_id)[0].item_id)


def test_the_checkpoint_of_an_item_is_kept_over_attempts(start: Start, make_project: MakeProject, diary: Path) -> None:
    start()
    project_id = make_project("a", fails=True, saves=True)
    run_id = start_run(project_id, "single")
    wait_for_status(run_id, "dead")
    with pytest.raises(state.errors.InvalidPayload):  # another payload would be another item
        state.retry(run_id, {"project_id": project_id})
    assert begins(diary) == ["a"] * 3


def test_the_token_limit_counts_for_runs(
    start: Start, make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(token_limit=10)
    project_id = make_project("a", tokens=11)
    run_id = start_run(project_id, "loop")
    wait_until_stopped(project_id)
    assert (queue(project_id).last_error or "").startswith("TokenLimitExceeded")
    assert len(state.get_attempts(run_id)) == 1


def test_cancel_pause_and_resume_of_a_run(start: Start, make_project: MakeProject, diary: Path, tmp_path: Path) -> None:
    start()
    gate = tmp_path / "release"
    project_id = make_project("a", "b", hold=str(gate))
    run_id = start_run(project_id, "loop")
    wait_for_line(diary, "begin a")
    state.pause(run_id)
    wait_for_status(run_id, "paused")
    assert (queue(project_id).is_running, queue(project_id).paused) == (True, True)
    state.resume(run_id)
    wait_for_line(diary, "begin a", 2)
    state.cancel(run_id)
    wait_until_stopped(project_id)
    assert (statuses(project_id), reasons(project_id)[-1][2]) == (["failed", "pending"], "run canceled")
    gate.touch()
    start_run(project_id, "loop")
    wait_until_stopped(project_id)
    assert statuses(project_id) == ["failed", "completed"]


def test_the_gates_of_an_item_hold_its_run(start: Start, make_project: MakeProject, diary: Path) -> None:
    """The run is queued with the gates of the item that is next, waits there, and starts when they open."""
    declare([Gate(GATE, 1)])
    put_gate(GATE, paused=True)
    start()
    project_id = make_project("a", task_type="gated")
    run_id = start_run(project_id, "single")
    task = wait_for_status(run_id, "waiting")
    assert (task.gates, task.attempt, statuses(project_id)) == ([GATE], 0, ["pending"])
    put_gate(GATE, paused=False)
    wait_until_stopped(project_id)
    assert statuses(project_id) == ["completed"]


def test_a_changed_choice_is_put_back_with_its_gates(start: Start, make_project: MakeProject, diary: Path) -> None:
    """An urgent item, whose agent has a gate, is added after the run was queued without one."""
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    add_items(project_id, [make_item(diary, "urgent", "gated", priority=0)])
    declare([Gate(GATE, 1)])
    put_gate(GATE, paused=True)
    start()
    task = wait_for_status(run_id, "waiting")
    assert (task.gates, task.attempt) == ([GATE], 0)
    assert begins(diary) == []
    put_gate(GATE, paused=False)
    wait_until_stopped(project_id)
    assert (begins(diary), get_task(run_id).attempt) == (["urgent"], 1)
    assert get_gate(GATE)["max_concurrent"] == 1


def test_fifty_concurrent_starts(make_project: MakeProject, database_url: str) -> None:
    project_id = make_project("a", "b")
    together = threading.Barrier(50)

    def begin(_: int) -> str:
        together.wait()
        try:
            return start_run(project_id, "loop")
        except QueueAlreadyRunning as refused:
            return f"refused for {refused.run_id}"

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(begin, range(50)))
    [run_id] = [answer for answer in answers if answer.startswith("tq_")]
    assert answers.count(f"refused for {run_id}") == 49
    assert [run.run_id for run in list_runs(project_id)] == [run_id]
    assert [task.task_id for task in state.list_tasks(actor="project_run")] == [run_id]


# Ignores SIGTERM, forks twice, leaves the session, and holds stdout open.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def tell():
    with open(sys.argv[1], "a") as out:
        out.write("pid %d\\n" % os.getpid())
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        tell()
        time.sleep(300)
        os._exit(0)
tell()
time.sleep(300)
"""


def test_force_stop_kills_everything(start: Start, tmp_path: Path, database_url: str) -> None:
    start(sandbox="process")  # its processes write to a file outside
    out = tmp_path / "pids"
    project_id = create_project("stubborn").project_id
    command = {"command": [sys.executable, "-c", STUBBORN, str(out)], "timeout_seconds": 300}
    add_items(project_id, [NewItem("stubborn", "command", "run", command), NewItem("next", "command", "run", command)])
    run_id = start_run(project_id, "loop")
    wait_for_line(out, "pid", 3)
    pids = [int(line.split()[1]) for line in read_lines(out)]
    assert all(map(psutil.pid_exists, pids))
    done = force_stop(project_id, seconds=5)
    assert (done.success, done.killed_runs, done.still_running) == (True, [run_id], [])
    assert not any(map(psutil.pid_exists, pids))
    assert (statuses(project_id), queue(project_id).is_running) == (["failed", "pending"], False)
    assert list_runs(project_id)[0].reason == "force-stop"
    assert reasons(project_id)[-2:] == [("running", "stopping", "force-stop"), ("stopping", "stopped", "force-stop")]
    start_run(project_id, "single", item_id=list_items(project_id)[1].item_id)  # at once
    wait_for_line(out, "pid", 6)
    assert force_stop(project_id).success


def test_force_stop_says_what_it_could_not_end(
    make_project: MakeProject, by_hand: WorkerByHand, connection: Observer
) -> None:
    """The worker is gone, and has left a process that nobody could kill."""
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    claimed, _ = by_hand.take()
    connection.execute(
        "INSERT INTO callboard.sandboxes (id, task_id, epoch, worker_id, host, boot_id, pid_namespace, pid, kind,"
        " workspace, started_at, survivors, survivor_ticks) VALUES ('sb_1', %s, 1, 'w1', 'far', 'boot', 'ns', 7,"
        " 'process', '/w', callboard.now(), '{4711}', '{1}')",
        [run_id],
    )
    done = force_stop(project_id, seconds=0.3)
    [left] = done.still_running
    assert (done.success, done.killed_runs) == (False, [])
    assert (left.run_id, left.sandbox_id, left.pids, left.host) == (run_id, "sb_1", [4711], "far")
    by_hand.release(claimed)
    done = force_stop(project_id, seconds=0.3)  # the run has ended; the process lives
    assert (done.success, [each.pids for each in done.still_running]) == (False, [[4711]])
    connection.execute("UPDATE callboard.sandboxes SET ended_at = callboard.now()")
    assert force_stop(project_id).success


def test_a_run_that_does_not_end_is_still_running(make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    claimed, _ = by_hand.take()
    done = force_stop(project_id, seconds=0.3)
    assert (done.success, done.killed_runs) == (False, [])
    assert [(left.run_id, left.sandbox_id) for left in done.still_running] == [(run_id, None)]
    assert queue(project_id).should_stop
    by_hand.release(claimed)


def test_a_run_writes_its_agent_event(start: Start, make_project: MakeProject, connection: Observer) -> None:
    start()
    project_id = make_project("a")
    run_id = start_run(project_id, "single")
    wait_until_stopped(project_id)
    wait_until_finished(run_id)
    row = connection.fetch_one("SELECT * FROM callboard.agent_events WHERE task_id = %s", [run_id])
    assert (row["agent_name"], row["task_type"]) == ("diary", "write")
    assert row["result"]["name"] == "a"


def test_the_history_of_a_project(start: Start, make_project: MakeProject) -> None:
    start()
    project_id = make_project("a")
    start_run(project_id, "single")
    wait_until_stopped(project_id)
    events = get_events(project_id)
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert get_project(project_id).last_event == len(events)
    told = [(event.kind, event.data["from"], event.data["to"]) for event in events]
    assert told == [
        ("queue", None, "stopped"),
        ("item", None, "pending"),
        ("queue", "stopped", "running"),
        ("item", "pending", "in_progress"),
        ("item", "in_progress", "completed"),
        ("queue", "running", "stopped"),
    ]
    assert events[-1].data["seconds"] >= 0
