"""The builder makes a task in every status, and touches no other task."""

import pytest

from state import get_events, get_task, submit
from state.transitions import STATUSES, Status
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer


@pytest.mark.parametrize("status", STATUSES)
def test_a_task_in_every_status(make_task: TaskBuilder, connection: Observer, status: Status) -> None:
    before = submit("quick", {}, priority=0).task_id
    tasks = [make_task(status), make_task(status, actor="slow", payload={"x": 1}, priority=3)]
    assert [(get_task(task.task_id).status, task.payload) for task in tasks] == [(status, {}), (status, {"x": 1})]
    assert get_events(tasks[0].task_id)[-1].data["to"] == status
    assert get_task(before).status == "queued"
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_results_and_errors(make_task: TaskBuilder) -> None:
    assert make_task("completed", result={"y": 2}).result == {"y": 2}
    dead = make_task("dead", error_type="InvalidInput")
    assert dead.error is not None
    assert dead.error["type"] == "InvalidInput"
    assert make_task("running", worker="w7").worker_id == "w7"
