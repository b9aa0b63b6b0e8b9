"""Workflows of this release go on when processes of the previous release end their tasks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.upgrade.release import MODULES, Release, Running

Keep = Callable[[Running], Running]


@pytest.fixture
def workflow_id(old: Release, new: Release) -> str:
    done = new.command("migrate")
    assert done.returncode == 0, done
    made = new.run(str(MODULES / "new_workflow.py"))
    assert made.returncode == 0, made
    return made.stdout.split()[-1]  # after its log


def read_steps(connection: Observer, workflow_id: str) -> dict[str, str]:
    rows = connection.execute("SELECT key, status FROM callboard.workflow_steps WHERE workflow_id = %s", [workflow_id])
    return {row["key"]: row["status"] for row in rows}


def read_status(connection: Observer, workflow_id: str) -> str:
    row = connection.fetch_one("SELECT status FROM callboard.workflows WHERE id = %s", [workflow_id])
    return str(row["status"])


def test_a_worker_of_the_previous_release_does_all_steps_of_a_workflow(
    old: Release, keep: Keep, connection: Observer, workflow_id: str, tmp_path: Path
) -> None:
    keep(old.start_workers(tmp_path / "old-workers.log"))
    eventually(lambda: read_status(connection, workflow_id) != "running", 60, what="the workflow has ended")
    assert read_status(connection, workflow_id) == "completed"
    assert read_steps(connection, workflow_id) == dict.fromkeys(("first", "left", "right", "last"), "completed")
    rows = connection.execute(
        "SELECT t.step, t.epoch, t.result -> 'top_words' AS top, t.started_at, t.finished_at, "
        "(SELECT count(*) FROM callboard.agent_events e WHERE e.task_id = t.id) AS events "
        "FROM callboard.tasks t WHERE t.workflow_id = %s",
        [workflow_id],
    ).fetchall()
    tasks = {row["step"]: row for row in rows}
    assert len(rows) == 4
    for row in rows:
        assert (row["epoch"], row["events"]) == (1, 1), row
    assert len(tasks["left"]["top"]) == 3
    assert tasks["first"]["finished_at"] <= min(tasks["left"]["started_at"], tasks["right"]["started_at"])
    assert tasks["last"]["started_at"] >= max(tasks["left"]["finished_at"], tasks["right"]["finished_at"])
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_a_task_that_the_previous_release_cancels_ends_its_step(
    old: Release, connection: Observer, workflow_id: str
) -> None:
    task = connection.fetch_one("SELECT id FROM callboard.tasks WHERE workflow_id = %s", [workflow_id])
    done = old.command("cancel", task["id"])
    assert done.returncode == 0, done
    assert read_steps(connection, workflow_id)["first"] == "canceled"
    assert read_status(connection, workflow_id) != "running"
