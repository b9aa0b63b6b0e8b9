"""Loops under fire: workers are killed, all of them at once, and started again."""

import random
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from state import get_events, get_task
from state.projects.items import NewItem, add_items, create_project
from state.projects.queue import force_stop, list_leftovers, start_run
from state.projects.reads import get_project, list_items, list_runs
from tests.projects.conftest import MakeProject, Start, make_item
from tests.projects.looks import queue, reasons, statuses
from tests.projects.test_runs import STUBBORN, begins, wait_until_stopped
from tests.support.eventually import eventually
from tests.support.following import read_lines, wait_for_line
from tests.support.observer import Observer

ITEMS = [f"item-{number:02}" for number in range(20)]


def judge(diary: Path) -> None:
    """By the diary alone: every item was ended, none began before the end of the one before it, and none began again
    after the next one had begun."""
    entries = [line.split()[:2] for line in read_lines(diary)]
    order = [name for what, name in entries if what == "begin"]
    assert order == sorted(order), order
    for number, name in enumerate(ITEMS):
        mine = [place for place, (_, its_name) in enumerate(entries) if its_name == name]
        ends = [place for place, entry in enumerate(entries) if entry == ["end", name]]
        assert ends, f"{name} was never ended"
        if number:
            first_begin = min(mine)
            ends_before = [place for place, entry in enumerate(entries) if entry == ["end", ITEMS[number - 1]]]
            assert max(ends_before) < first_begin, f"{name} began before the end of {ITEMS[number - 1]}"


@pytest.mark.parametrize("seed", [1])
def test_a_loop_over_twenty_items_with_workers_killed_at_random(
    start: Start, make_project: MakeProject, diary: Path, connection: Observer, seed: int
) -> None:
    """At random moments of random items, all trees are killed, or only the one that has begun an item last. Few items
    lose a worker twice: after three losses one would be dead, rightly."""
    chance = random.Random(seed)
    project_id = make_project(*ITEMS, seconds=0.3)
    trees = [start(processes=2, threads=2) for _ in range(2)]
    first = start_run(project_id, "loop")
    for number in sorted(chance.sample(range(1, 20, 2), 5)):
        wait_for_line(diary, f"begin {ITEMS[number]}")
        time.sleep(chance.uniform(0, 0.4))
        last = int([line for line in read_lines(diary) if line.startswith("begin ")][-1].split()[2])
        everything = chance.random() < 0.5
        victims = [tree for tree in trees if everything or last in [child.pid for child in tree.children()]] or trees
        for tree in victims:
            tree.kill()
        trees = [tree if tree not in victims else start(processes=2, threads=2) for tree in trees]
    wait_until_stopped(project_id)
    judge(diary)
    assert statuses(project_id) == ["completed"] * 20
    assert [item.runs for item in list_items(project_id)] == [1] * 20
    completed = [
        event.data["title"]
        for event in get_events(project_id)
        if event.kind == "item" and event.data["to"] == "completed"
    ]
    assert completed == ITEMS  # each once, and in order
    runs = list_runs(project_id)
    assert (len(runs), runs[-1].run_id) == (20, first)
    assert {run.outcome for run in runs} == {"completed"}
    after = get_project(project_id).queue_state
    assert (after.is_running, after.mode, after.should_stop, after.last_error) == (False, None, False, None)
    assert reasons(project_id)[-1][2] == "no pending items"
    left = connection.fetch_one(
        "SELECT count(*) AS n FROM callboard.tasks WHERE actor = 'project_run' AND status <> 'completed'"
    )
    assert left["n"] == 0


def test_a_restart_in_the_middle(start: Start, make_project: MakeProject, diary: Path, tmp_path: Path) -> None:
    """All workers are killed during an item. The state says so; the next worker goes on with the same run and item."""
    gate = tmp_path / "release"
    project_id = make_project("item-a", "item-b", hold=str(gate))
    tree = start()
    run_id = start_run(project_id, "loop")
    wait_for_line(diary, "begin item-a")
    tree.kill()
    before = queue(project_id)
    assert (before.is_running, before.mode, before.current_run_id) == (True, "loop", run_id)
    gate.touch()
    start()
    wait_until_stopped(project_id)
    assert begins(diary) == ["item-a", "item-a", "item-b"]
    assert statuses(project_id) == ["completed"] * 2
    assert [run.run_id for run in list_runs(project_id)][-1] == run_id
    add_items(project_id, [make_item(diary, "item-c")])
    start_run(project_id, "loop")
    wait_until_stopped(project_id)
    assert begins(diary)[-1] == "item-c"


def test_a_graceful_restart_burns_no_attempt(
    start: Start, make_project: MakeProject, diary: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "release"
    project_id = make_project("item-a", hold=str(gate))
    tree = start(grace_seconds=0)
    run_id = start_run(project_id, "loop")
    wait_for_line(diary, "begin item-a")
    tree.process.send_signal(signal.SIGTERM)
    tree.wait()
    assert (get_task(run_id).status, get_task(run_id).attempt) == ("queued", 0)
    gate.touch()
    start()
    wait_until_stopped(project_id)
    assert get_task(run_id).attempt == 1
    assert statuses(project_id) == ["completed"]


def test_force_stop_after_the_worker_was_killed(
    start: Start, make_project: MakeProject, diary: Path, tmp_path: Path
) -> None:
    """The run cannot end by itself; the next worker ends it, as was asked."""

    project_id = make_project("item-a", hold=str(tmp_path / "never"))
    tree = start()
    run_id = start_run(project_id, "loop")
    wait_for_line(diary, "begin item-a")
    tree.kill()
    done = force_stop(project_id, seconds=0.2)
    assert not done.success
    assert done.still_running[0].run_id == run_id
    start()
    eventually(lambda: not queue(project_id).is_running, 90, what="the next worker ends the run")
    assert (get_task(run_id).status, statuses(project_id)) == ("canceled", ["failed"])
    assert list_runs(project_id)[0].reason == "force-stop"


def test_force_stop_of_a_command_whose_worker_was_killed(start: Start, database_url: str, tmp_path: Path) -> None:
    """The next worker kills what the command has left, and ends the run."""
    tree = start(sandbox="process")
    out = tmp_path / "pids"
    project_id = create_project("stubborn").project_id
    command = {"command": [sys.executable, "-c", STUBBORN, str(out)], "timeout_seconds": 300}
    add_items(project_id, [NewItem("stubborn", "command", "run", command)])
    run_id = start_run(project_id, "loop")
    wait_for_line(out, "pid", 3)
    pids = [int(line.split()[1]) for line in read_lines(out)]
    tree.kill()
    first = force_stop(project_id, seconds=0.2)
    assert (first.success, first.killed_runs, first.still_running[0].run_id) == (False, [], run_id)
    start(sandbox="process")
    eventually(lambda: not any(map(psutil.pid_exists, pids)), what="all its processes are gone")
    # At the latest when the lease of the killed worker has ended.
    eventually(lambda: not queue(project_id).is_running and not list_leftovers(project_id), 90, what="all has ended")
    assert force_stop(project_id).success
    assert (get_task(run_id).status, statuses(project_id)) == ("canceled", ["failed"])
