"""A worker behind a pooler in transaction mode."""

from collections.abc import Callable

import actors  # noqa: F401  (declares the kinds of work)
from state import get_task, submit
from tests.support import testactors  # noqa: F401
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree


def test_a_task_runs_from_end_to_end(pgbouncer: str, worker: Callable[..., WorkerTree]) -> None:
    worker()
    task_id = submit("steps", {"seconds": 0.1}).task_id
    task = eventually(lambda: (task := get_task(task_id)).finished and task)
    assert (task.status, task.result) == ("completed", "done")
