"""Workspaces of tasks, on real workers and in tests of actors."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import actors  # noqa: F401  (sets the broker)
import state
from broker.testing import run_actor
from providers.sandbox.errors import IsolationMissing
from state import submit
from state.sandboxes import list_unended
from tests.providers.boxes import needs_bubblewrap
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.sandboxactors import in_workspace
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]

ACTORS = f"{TEST_ACTORS},tests.support.sandboxactors"
COMMANDS = [["sh", "-c", "sort words > sorted; mkdir -p a/b; echo deep > a/b/c"], ["cat", "sorted"]]
REQUEST = {"commands": COMMANDS, "files": {"words": "b\na\n"}}
EXPECTED = {"outputs": ["", "a\nb\n"], "files": {"a/b/c": "deep\n", "sorted": "a\nb\n", "words": "b\na\n"}}
kinds = pytest.mark.parametrize("kind", ["process", pytest.param("bubblewrap", marks=needs_bubblewrap)])


def is_empty(tmp_path: Path) -> bool:
    return not list(tmp_path.glob("workspaces/*"))


@kinds
def test_several_commands_share_a_folder(worker: Start, tmp_path: Path, connection: Any, kind: str) -> None:
    worker(actors=ACTORS, sandbox=kind)
    task = wait_until_finished(submit("in_workspace", REQUEST).task_id)
    assert (task.status, task.result) == ("completed", EXPECTED)
    assert is_empty(tmp_path)
    rows = connection.execute("SELECT kind, ended_at IS NULL AS open, workspace FROM callboard.sandboxes").fetchall()
    assert [(row["kind"], row["open"]) for row in rows] == [(kind, False)] * 2
    assert len({row["workspace"] for row in rows}) == 1


@kinds
def test_it_needs_no_worker_in_the_test_of_an_actor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    state.settings.get_settings.cache_clear()
    monkeypatch.setenv("CALLBOARD_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CALLBOARD_SANDBOX", kind)
    try:
        assert run_actor(in_workspace, REQUEST).result == EXPECTED
        assert is_empty(tmp_path)
        with pytest.raises(ValueError, match="no path inside"):
            run_actor(in_workspace, {"commands": [], "files": {"../x": ""}})
        assert is_empty(tmp_path)
    finally:
        state.settings.get_settings.cache_clear()


def hold(tmp_path: Path) -> str:
    """A command in a workspace that does not end by itself."""
    task_id = submit("in_workspace", {"commands": [["sh", "-c", "touch begun; sleep 300"]]}).task_id
    eventually(lambda: list(tmp_path.glob("workspaces/folder-*/begun")), what="the command runs")
    return task_id


def test_a_cancel_removes_it(worker: Start, tmp_path: Path) -> None:
    worker(actors=ACTORS, sandbox="process")
    task_id = hold(tmp_path)
    state.cancel(task_id)
    assert wait_until_finished(task_id).status == "canceled"
    eventually(lambda: is_empty(tmp_path), what="no workspace is left")
    assert list_unended(task_id) == []


def test_the_next_worker_removes_that_of_a_killed_one(worker: Start, tmp_path: Path) -> None:
    tree = worker(actors=ACTORS, sandbox="process")
    task_id = hold(tmp_path)
    tree.signal_all(signal.SIGKILL)
    tree.wait()
    assert not is_empty(tmp_path)
    state.cancel(task_id, force=True)
    worker(actors=ACTORS, sandbox="process", pulse_seconds=0.5)
    eventually(lambda: is_empty(tmp_path), what="no workspace is left")
    eventually(lambda: list_unended(task_id) == [], what="the row has ended")


def test_isolation_that_is_missing_refuses_the_task(worker: Start, tmp_path: Path, connection: Any) -> None:
    worker(actors=ACTORS, sandbox="docker")  # without an image
    task = wait_until_finished(submit("in_workspace", REQUEST).task_id)
    assert (task.status, task.attempt) == ("dead", 1)
    assert task.error is not None
    assert (task.error["type"], task.error["category"]) == (IsolationMissing.__name__, "permanent")
    assert "CALLBOARD_SANDBOX_IMAGE" in task.error["message"]
    assert connection.execute("SELECT FROM callboard.sandboxes").fetchall() == []
    assert is_empty(tmp_path)
