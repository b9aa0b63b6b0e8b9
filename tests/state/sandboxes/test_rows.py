"""The rows of sandboxes."""

from typing import Any

import pytest

from state import cancel
from state.errors import LeaseLost
from state.sandboxes import close_sandbox, list_on_this_host, list_unended, open_sandbox
from state.workers.identity import Place
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer


def enter(task: Any, sandbox_id: str = "sb_1", **changed: Any) -> None:
    fields = {"task_id": task.task_id, "epoch": task.epoch, "worker": task.worker_id, **changed}
    open_sandbox(
        sandbox_id, kind="process", pid=7, start_ticks=70, workspace="/w", container=None, groups=["/g"], **fields
    )


def test_a_row_is_written_once(make_task: TaskBuilder, connection: Observer) -> None:
    task = make_task("running")
    enter(task)
    enter(task)  # the answer to the first one was lost
    [row] = list_on_this_host()
    assert (row.id, row.task_id, row.pid, row.start_ticks, row.control_groups) == ("sb_1", task.task_id, 7, 70, ["/g"])
    assert (row.worker_id, row.worker_pid, row.rebooted) == ("w1", None, False)
    assert list_unended(task.task_id) == [
        {"id": "sb_1", "task_id": task.task_id, "kind": "process", "host": Place.of_this_process().host, "pids": [7]}
    ]
    [view] = connection.execute("SELECT id, task_status, worker_alive, survivors FROM admin.sandboxes").fetchall()
    assert view == {"id": "sb_1", "task_status": "running", "worker_alive": False, "survivors": []}
    close_sandbox("sb_1", 1)
    assert list_unended(task.task_id) == []
    assert connection.execute("SELECT FROM admin.sandboxes").fetchall() == []


@pytest.mark.parametrize("changed", [{"epoch": 7}, {"worker": "w2"}, {"task_id": "tq_other"}])
def test_who_does_not_own_the_task_gets_no_sandbox(make_task: TaskBuilder, changed: dict[str, Any]) -> None:
    with pytest.raises(LeaseLost):
        enter(make_task("running"), **changed)
    assert list_on_this_host() == []


def test_a_task_that_has_ended_gets_no_sandbox(make_task: TaskBuilder) -> None:
    task = make_task("running")
    with pytest.raises(LeaseLost):
        enter(make_task("completed"))
    cancel(task.task_id)  # only asked for: its code may still clean up with a program
    enter(task)
    assert len(list_unended(task.task_id)) == 1


def test_survivors_are_listed_until_they_are_gone(make_task: TaskBuilder) -> None:
    task = make_task("running")
    enter(task)
    close_sandbox("sb_1", 2, [(8, 80), (9, None)])
    [row] = list_unended(task.task_id)
    assert row["pids"] == [8, 9]
    [left] = list_on_this_host()
    assert (left.survivors, left.survivor_ticks) == ([8, 9], [80, 0])
    close_sandbox("sb_1", 1, [(9, None)])
    assert list_unended(task.task_id)[0]["pids"] == [9]
    close_sandbox("sb_1", 1)
    assert list_unended(task.task_id) == []


def test_sandboxes_of_other_machines_are_not_ours(make_task: TaskBuilder, connection: Observer) -> None:
    task = make_task("running")
    enter(task)
    connection.execute("UPDATE callboard.sandboxes SET pid_namespace = 'another container'")
    assert list_on_this_host() == []
    connection.execute("UPDATE callboard.sandboxes SET boot_id = 'before'")
    assert [row.rebooted for row in list_on_this_host()] == [True]
    connection.execute("UPDATE callboard.sandboxes SET host = 'another'")
    assert list_on_this_host() == []
    assert len(list_unended(task.task_id)) == 1  # and yet everybody sees them
