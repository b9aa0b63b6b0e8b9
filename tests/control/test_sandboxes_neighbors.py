"""Commands that take more than they may: their limits end them, and the other tasks of the same worker go on."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import actors  # noqa: F401  (sets the broker)
import tests.support.sandboxactors  # noqa: F401  (declares the actors)
from state import get_attempts, submit
from tests.providers.boxes import INTERPRETER, needs_bubblewrap
from tests.providers.test_sandbox_limits import DISK_HOG, FORK_BOMB, MEMORY_HOG, MIB
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]

ACTORS = f"{TEST_ACTORS},tests.support.sandboxactors"
LIMITS = {"memory": 200 * MIB, "processes": 40, "disk": 30 * MIB}
HOGS = {"memory": MEMORY_HOG, "processes": FORK_BOMB, "disk": DISK_HOG}


@pytest.mark.parametrize("kind", ["process", pytest.param("bubblewrap", marks=needs_bubblewrap)])
def test_the_worker_and_its_neighbors_go_on(worker: Start, tmp_path: Path, kind: str) -> None:
    tree = worker(actors=ACTORS, sandbox=kind, sandbox_folders=sys.base_prefix)
    hold = "for i in 1 2 3 4 5; do echo $i >> count; sleep 0.5; done; cat count"
    beside = submit("in_workspace", {"commands": [["sh", "-c", hold]]}).task_id
    hogs = {
        limit: submit("limited_commands", {"commands": [[INTERPRETER, "-I", "-c", code]], "limits": LIMITS}).task_id
        for limit, code in HOGS.items()
    }
    for limit, task_id in hogs.items():
        task = wait_until_finished(task_id, timeout=90)
        assert task.status == "completed", task.error
        assert task.result == [{"exit_code": -9, "limit": limit, "kind": kind}]
    neighbor = wait_until_finished(beside)
    assert neighbor.result["outputs"] == ["1\n2\n3\n4\n5\n"]
    assert [each["outcome"] for each in get_attempts(beside)] == ["completed"]
    assert wait_until_finished(submit("limited_commands", {"commands": [["true"]]}).task_id).status == "completed"
    assert tree.log.read_text().count('"worker ready"') == 1  # nobody had to replace it
    eventually(lambda: not list(tmp_path.glob("workspaces/*")), what="their folders are removed")
